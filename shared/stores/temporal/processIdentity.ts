import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { statFields } from '../../childProcesses/processorTime.ts';

export interface ProcessIdentity {
  /** When it started, in the system's own notation: only good for comparing. Process ids are given again, this pair is not. */
  startedAt: string;
  /** Program and arguments, separated by spaces. */
  command: string;
}

/** Identifies the process that runs under this id now. Returns undefined when there is none; a zombie does not count. */
export async function processIdentity(pid: number, platform: NodeJS.Platform): Promise<ProcessIdentity | undefined> {
  return platform === 'linux' ? fromProc(pid) : fromPs(pid);
}

async function fromProc(pid: number): Promise<ProcessIdentity | undefined> {
  try {
    const [stat, commandLine] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
    ]);
    const fields = statFields(stat);
    const startedAt = fields[22 - 3];
    if (fields[0] === 'Z' || startedAt === undefined) return undefined;
    return { startedAt, command: commandLine.replaceAll('\0', ' ').trim() };
  } catch {
    return undefined; // ENOENT, or ESRCH when it ended between open and read
  }
}

/** macOS has no /proc. `lstart` is 24 characters wide there and in procps: `Sat Nov 21 14:14:36 2026`. */
async function fromPs(pid: number): Promise<ProcessIdentity | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', [
      '-ww',
      '-p',
      String(pid),
      '-o',
      'lstart=',
      '-o',
      'state=',
      '-o',
      'command=',
    ]);
    const [, startedAt, state, command] = /^\s*(.{24})\s+(\S+)\s+(.*)$/m.exec(stdout) ?? [];
    if (startedAt === undefined || state === undefined || command === undefined || state.startsWith('Z')) return undefined;
    return { startedAt, command: command.trim() };
  } catch {
    return undefined; // ps ends with 1 when there is no such process
  }
}
