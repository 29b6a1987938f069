import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runAssay } from '../../cli/runAssay.ts';
import { quoted } from '../../cli/terminal/terminal.ts';

const entry = join(import.meta.dirname, '../../cli/main.ts');

export interface Ended {
  exitCode: number;
  stdout: string;
  stderr: string;
}

export interface Typed {
  /** Where it is typed. */
  folder: string;
  /** Beside what any program needs; nothing of the environment of the tests reaches the command. */
  environment?: Record<string, string>;
  input?: string;
}

const atHand = (typed: Typed) => ({
  PATH: process.env.PATH ?? '',
  HOME: typed.folder,
  XDG_CACHE_HOME: join(process.env.HOME ?? '', '.cache'),
  NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/node'),
  ...typed.environment,
});

/** Starts `assay …` as a process, as a shell does. */
export function startAssay(words: readonly string[], typed: Typed): ChildProcess & { ended: Promise<Ended> } {
  const child = spawn(process.execPath, [entry, ...words], { cwd: typed.folder, env: atHand(typed), stdio: 'pipe' });
  child.stdin.on('error', () => undefined); // it may end without reading all
  child.stdin.end(typed.input ?? '');
  return Object.assign(child, { ended: endOf(child) });
}

/**
 * Runs `assay …` to its end, one command at a time. It runs in this process: one of its own takes 0.4 s of CPU more. Only `run` has its own, since
 * Node.js must load the experiment file there, and not what loads the tests.
 */
export async function assay(words: readonly string[], typed: Typed): Promise<Ended> {
  if (words[0] === 'run') return startAssay(words, typed).ended;
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = Promise.all([text(stdout), text(stderr)]);
  const environment = process.env;
  process.env = atHand(typed); // where the client library looks for credentials
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      const ownProcess = {
        ...{ env: process.env, stdout, stderr, stdin: Readable.from([typed.input ?? '']) },
        ...{ cwd: () => typed.folder, exit: resolve, on: () => undefined },
      };
      runAssay(ownProcess as never, words).catch(reject);
    });
    stdout.end();
    stderr.end();
    const [written, remarked] = await said;
    return { exitCode, stdout: written, stderr: remarked };
  } finally {
    process.env = environment;
  }
}

/** The same in a shell, where `assay` is the command. */
export function inShell(script: string, typed: Typed): Promise<Ended> {
  const command = `assay() { ${quoted(process.execPath)} ${quoted(entry)} "$@"; }\n${script}`;
  const child = spawn('bash', ['-c', command], { cwd: typed.folder, env: atHand(typed), stdio: ['ignore', 'pipe', 'pipe'] });
  return endOf(child);
}

/** The same at a terminal of so many columns; what it shows comes as one text. */
export function atTerminal(columns: number, words: readonly string[], typed: Typed): ChildProcess & { ended: Promise<Ended> } {
  const line = `stty cols ${columns}; exec ${[process.execPath, entry, ...words].map(quoted).join(' ')}`;
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    cwd: typed.folder,
    env: { ...atHand(typed), TERM: 'xterm', SHELL: '/bin/bash' },
    stdio: 'pipe',
  });
  return Object.assign(child, { ended: endOf(child) });
}

async function endOf(child: ChildProcess): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode: exitCode ?? -1, stdout, stderr };
}
