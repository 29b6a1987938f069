import { type ExitCode, exitCodes } from './exitCodes.ts';

/** Ends a command with one sentence for the person who typed it, and a status for scripts. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export const usageError = (message: string, options?: ErrorOptions): CommandError =>
  new CommandError(exitCodes.usage, message, options);

export const notFound = (message: string): CommandError => new CommandError(exitCodes.notFound, message);

export const isFileProblem = (err: unknown): err is NodeJS.ErrnoException =>
  err instanceof Error && 'code' in err && typeof err.code === 'string' && 'syscall' in err && /^E[A-Z0-9]+$/.test(err.code);

const fileReasons: Record<string, string> = {
  ENOENT: 'it does not exist',
  EACCES: 'you may not; change its permissions or name another',
  EPERM: 'you may not; change its permissions or name another',
  EROFS: 'its disk is read-only; name another place',
  EISDIR: 'it is a folder; name a file',
  ENOTDIR: 'a part of the path is no folder',
  ENOSPC: 'the disk is full; make room or name another place',
  EDQUOT: 'your disk quota is used up; make room or name another place',
};

/** @param path what the file is called, where the error does not say */
export function fileError(err: NodeJS.ErrnoException, path = err.path): CommandError {
  const reason = fileReasons[err.code ?? ''] ?? err.message;
  const what = ['open', 'stat', 'access'].includes(err.syscall ?? '') ? 'opened' : err.syscall === 'read' ? 'read' : 'written';
  return new CommandError(exitCodes.file, `${path ?? 'the output'} cannot be ${what}: ${reason}`, { cause: err });
}
