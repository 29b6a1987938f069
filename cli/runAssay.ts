import { CommanderError } from 'commander';
import { assayCommand } from './assayCommand.ts';
import { fileError } from './terminal/commandError.ts';
import { exitCodes } from './terminal/exitCodes.ts';
import type { PassedSignal } from './terminal/ownOutput.ts';
import { errorAsJson, styled, type Terminal } from './terminal/terminal.ts';

/** Why the work of a command was given up: a signal. */
class Stopped extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('stopped');
    this.exitCode = exitCode;
  }
}

/**
 * Runs one command line to its end, and ends the process with its status: what a user's function left open does not hold it.
 * @param stdout where results go
 */
export async function runAssay(
  process: NodeJS.Process,
  words: readonly string[],
  stdout: NodeJS.WriteStream = process.stdout,
): Promise<never> {
  const stopping = new AbortController();
  const stopped = { SIGINT: exitCodes.interrupted, SIGTERM: exitCodes.terminated, SIGHUP: 129 };
  const got: Record<PassedSignal['signal'], number> = { SIGINT: 0, SIGTERM: 0, SIGHUP: 0 };
  const stop = ({ signal, count }: PassedSignal) => {
    if (count <= got[signal]) return; // the other process has passed it on
    got[signal] = count;
    // The second one is meant: there is nothing that could be lost.
    if (stopping.signal.aborted) process.exit(stopped[signal]);
    stopping.abort(new Stopped(stopped[signal]));
  };
  const own = { ...got };
  for (const signal of Object.keys(stopped) as PassedSignal['signal'][])
    process.on(signal, () => stop({ signal, count: ++own[signal] }));
  process.on('message', stop);
  process.on('disconnect', () => stop({ signal: 'SIGHUP', count: 1 })); // the process above was killed
  // A reader that has seen enough, as `head` has, is no error to report.
  const onBroken = (err: NodeJS.ErrnoException) => {
    if (err.code === 'EPIPE') process.exit(exitCodes.brokenPipe);
    process.stderr.write(`${fileError(err, 'the output').message}\n`);
    process.exit(exitCodes.file);
  };
  stdout.on('error', onBroken);
  process.stderr.on('error', () => process.exit(exitCodes.brokenPipe));

  const terminal: Terminal = {
    environment: process.env,
    folder: process.cwd(),
    stdin: process.stdin,
    stdout,
    stderr: process.stderr,
    signal: stopping.signal,
  };
  const exitCode = await outcome(terminal, words);
  // Output to a pipe may still be unwritten.
  await new Promise<void>((resolve) => stdout.write('', (err) => (err ? onBroken(err) : resolve())));
  await new Promise<void>((resolve) => process.stderr.write('', () => resolve()));
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
    const { commandErrorOf } = await import('./terminal/commandErrorOf.ts');
    const error = commandErrorOf(err);
    if (terminal.signal.aborted && error.cause instanceof Stopped) return error.cause.exitCode;
    terminal.stderr.write(
      asJson ? errorAsJson(error.message, error.exitCode) : `${styled(terminal.stderr, 'red', 'assay:')} ${error.message}\n`,
    );
    return error.exitCode;
  }
}
