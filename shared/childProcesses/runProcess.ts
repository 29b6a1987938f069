import { dieWithParent } from './parentWatch.ts';

/** Something that a process runs until it is stopping to stop. */
export interface Running {
  stop(): Promise<void>;
  /** Rejects when it cannot go on. */
  broken?: Promise<unknown>;
  /** Rejects when it must end at once, since to stop it cleanly would take what is lost. */
  lost?: Promise<unknown>;
}

/** Milliseconds between two looks at the parent. */
const PARENT_LOOK_MS = 250;
/** Milliseconds that a process without its parent takes to end: no other process would end it by force. The guard of Temporal's server has 1 s after that. */
const ORPHAN_MS = 1_000;
/** Milliseconds for a clean end. Supervisors kill after 10 s as a rule. */
const STOP_MS = 9_500;

/**
 * Runs a process of the service: SIGTERM and SIGINT stop it cleanly, also while it starts; a start that fails says why in one sentence and ends
 * with status 1.
 * @param start gets a signal that aborts when the start is to be given up
 * @param options.underNpm end when the parent goes: npm may be killed without a word to its child
 */
export async function runProcess(
  start: (signal: AbortSignal) => Promise<Running>,
  options: { underNpm: boolean },
): Promise<never> {
  // Deprecations are for those who build this: a Temporal server with TLS at an IP address would put one before the sentence that says what is wrong.
  process.noDeprecation = true;
  const stopping = new AbortController();
  const requestStop = () => {
    stopping.abort();
    setTimeout(() => fail(new Error(`not stopped within ${STOP_MS} ms`)), STOP_MS).unref();
  };
  // Heard more than once: a terminal signals the whole group, and npm passes it on besides.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.signal.aborted || requestStop());
  if (options.underNpm) dieWithParent({ lookMs: PARENT_LOOK_MS, graceMs: ORPHAN_MS, onGone: () => stopping.abort() });

  let running: Running;
  try {
    running = await start(stopping.signal);
  } catch (err) {
    if (stopping.signal.aborted) process.exit(0);
    fail(err);
  }
  running.lost?.catch(fail);
  const stop = new Promise<void>((resolve) => {
    if (stopping.signal.aborted) resolve();
    stopping.signal.addEventListener('abort', () => resolve());
  });
  try {
    await Promise.race([stop, ...(running.broken ? [running.broken] : [])]);
  } catch (err) {
    process.exitCode = 1;
    say(err);
    requestStop();
  }
  try {
    await running.stop();
  } catch (err) {
    process.exitCode = 1;
    say(err);
  }
  process.exit();
}

function fail(err: unknown): never {
  say(err);
  process.exit(1);
}

const say = (err: unknown) => process.stderr.write(`${err instanceof Error ? err.message : String(err)}\n`);
