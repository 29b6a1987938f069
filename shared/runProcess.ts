/** Something that a process runs until it is told to stop. */
export interface Running {
  stop(): Promise<void>;
}

/**
 * Runs a process of the service: SIGTERM and SIGINT stop it cleanly; a start that fails says why in one sentence and ends with status 1.
 * @param underNpm end when the parent goes: npm may be killed without a word to its child
 */
export async function runProcess(start: () => Promise<Running>, options: { underNpm: boolean }): Promise<void> {
  const parent = process.ppid;
  let running: Running;
  try {
    running = await start();
  } catch (err) {
    process.stderr.write(`${messageOf(err)}\n`);
    process.exit(1);
  }
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    running.stop().then(
      () => process.exit(),
      (err: unknown) => {
        process.stderr.write(`could not stop cleanly: ${messageOf(err)}\n`);
        process.exit(1);
      },
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  if (options.underNpm) setInterval(() => process.ppid === parent || stop(), 1_000).unref();
}

const messageOf = (err: unknown): string => (err instanceof Error ? err.message : String(err));
