import { CommanderError } from 'commander';
import { assayCommand } from './assayCommand.ts';
import { fileError } from './commandError.ts';
import { exitCodes } from './exitCodes.ts';
import { errorAsJson, styled, type Terminal } from './terminal.ts';

/** Why the work of a command was given up: a signal. */
class Stopped extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('stopped');
    this.exitCode = exitCode;
  }
}

/** Runs one command line to its end, and ends the process with its status: what a user's function left open does not hold it. */
export async function runAssay(process: NodeJS.Process, words: readonly string[]): Promise<never> {
  const stopping = new AbortController();
  const stopped = { SIGINT: exitCodes.interrupted, SIGTERM: exitCodes.terminated, SIGHUP: 129 };
  for (const [signal, exitCode] of Object.entries(stopped))
    process.on(signal, () => {
      // The second one is meant: there is nothing that could be lost.
      if (stopping.signal.aborted) process.exit(exitCode);
      stopping.abort(new Stopped(exitCode));
    });
  // A reader that has seen enough, as `head` has, is no error to tell anybody of.
  const onBroken = (err: NodeJS.ErrnoException) => {
    if (err.code === 'EPIPE') process.exit(exitCodes.brokenPipe);
    process.stderr.write(`${fileError(err, 'the output').message}\n`);
    process.exit(exitCodes.file);
  };
  process.stdout.on('error', onBroken);
  process.stderr.on('error', () => process.exit(exitCodes.brokenPipe));

  const terminal: Terminal = {
    environment: process.env,
    folder: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: stopping.signal,
  };
  const exitCode = await outcome(terminal, words);
  // What was written to a pipe may still be on its way.
  for (const stream of [process.stdout, process.stderr]) await new Promise<void>((resolve) => stream.write('', () => resolve()));
  process.exit(exitCode);
}

async function outcome(terminal: Terminal, words: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.done;
  const asJson = words.includes('--json');
  try {
    await assayCommand(terminal, (code) => (exitCode = code), asJson).parseAsync([...words], { from: 'user' });
    return exitCode;
  } catch (err) {
    if (err instanceof CommanderError) return err.exitCode === 0 ? exitCodes.done : exitCodes.usage; // it has said what is wrong
    if (err instanceof Stopped) return err.exitCode;
    const { commandErrorOf } = await import('./commandErrorOf.ts');
    const error = commandErrorOf(err);
    if (terminal.signal.aborted && error.cause instanceof Stopped) return error.cause.exitCode;
    terminal.stderr.write(
      asJson ? errorAsJson(error.message, error.exitCode) : `${styled(terminal.stderr, 'red', 'assay:')} ${error.message}\n`,
    );
    return error.exitCode;
  }
}
