import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { lowerPriority } from '../childProcesses/lowerPriority.ts';
import { processorTime } from '../childProcesses/processorTime.ts';
import type { Life } from '../childProcesses/respawning.ts';
import type { CodeLanguage } from './codeLanguage.ts';
import type { FromSandbox, ToSandbox } from './messages.ts';

const folder = import.meta.dirname;
const programOf = (name: string): string => join(folder, `${name}${extname(import.meta.filename)}`);
const folderOf = (path: string, up: '.' | '..'): string => fileURLToPath(new URL(up, path));
const quickjs = import.meta.resolve('quickjs-emscripten-core');
/** Packages that QuickJS is made of, each with its entry one folder down. */
const quickjsEntries = [
  ...[quickjs, import.meta.resolve('@jitl/quickjs-wasmfile-release-sync')],
  pathToFileURL(createRequire(quickjs).resolve('@jitl/quickjs-ffi-types')).href,
];

interface Interpreter {
  program: string;
  /** Folders that it reads beside its program, with a slash at the end. */
  folders: readonly string[];
  args(memoryMb: number): string[];
}

/** The interpreters by the language that they read. */
export const interpreters: Readonly<Record<CodeLanguage, Interpreter>> = {
  python: {
    program: programOf('pythonHost'),
    folders: [folderOf(import.meta.resolve('pyodide'), '.')],
    args(memoryMb) {
      return [...this.folders, String(memoryMb)];
    },
  },
  javascript: {
    program: programOf('javascriptHost'),
    folders: quickjsEntries.map((entry) => folderOf(entry, '..')),
    args: (memoryMb) => [String(memoryMb)],
  },
};

/** Milliseconds in which the interpreter must have started. */
const START_MS = 120_000;
/** MiB of the JavaScript heap: texts on their way in and out. The memory of the code is bounded apart. */
const HEAP_MB = 256;
/** Seconds of processor time after which the system ends it, also when the service is gone: a new one takes over. */
const LIFE_SECONDS = 900;

/** How many times as long a call may take as its limit says, while the process still waits for the processor time of that limit. */
const PATIENCE = 6;

/** Characters of what it says about a start that fails. */
const MAX_SAID = 1_000;

export interface SandboxLimits {
  /** Milliseconds that one call may take; of processor time where others keep the processors busy, for up to {@link PATIENCE} times as long. */
  callMs: number;
  /** MiB that the code may use. */
  memoryMb: number;
}

export type UserIds = { uid: number; gid: number } | undefined;

/** Why a process is gone in the middle of a call. */
export class SandboxDied extends Error {
  readonly isOverdue: boolean;
  constructor(isOverdue: boolean) {
    super(isOverdue ? 'the call took too long' : 'the process ended');
    this.isOverdue = isOverdue;
  }
}

/** One life of a process with an interpreter. It does one thing at a time. */
export class SandboxProcess implements Life {
  readonly ready: Promise<void>;
  dead = false;
  /** Keys of the code that it has been sent. */
  readonly sent = new Set<string>();
  private readonly child: ChildProcess;
  private readonly callMs: number;
  private lastId = 0;
  private current: { id: number; resolve(answer: string): void; reject(err: unknown): void; timer: NodeJS.Timeout } | undefined;

  constructor(language: CodeLanguage, { callMs, memoryMb }: SandboxLimits, user: UserIds) {
    this.callMs = callMs;
    this.child = spawn(interpreters[language], memoryMb, user);
    this.ready = new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.died(false), START_MS);
      this.child.on('message', (message: FromSandbox | null) => {
        if (message?.type === 'ready') {
          clearTimeout(timer);
          lowerPriority(this.child.pid); // not before: to start is no work of users
          this.unref();
          resolve();
        } else if (message?.type === 'answered') this.answered(message.id, message.answer);
      });
      const ended = (err: Error) => {
        clearTimeout(timer);
        reject(err);
        this.died(false);
      };
      let said = '';
      this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-MAX_SAID);
      });
      this.child.once('exit', (code, signal) => ended(new Error(`it ended at its start (${signal ?? code}): ${said}`)));
      this.child.once('error', ended);
    });
    this.ready.catch(() => undefined); // one that started and ends later rejects nothing that anybody waits for
  }

  /** @returns JSON, which the code may have forged @throws SandboxDied */
  call(request: Omit<ToSandbox, 'id'>): Promise<string> {
    const id = ++this.lastId;
    this.child.ref();
    this.child.channel?.ref();
    return new Promise((resolve, reject) => {
      this.current = { id, resolve, reject, timer: this.deadline(id) };
      // A closed channel is followed by the `exit` that answers.
      this.child.send({ id, ...request } satisfies ToSandbox, () => undefined);
      if (this.dead) this.died(false);
    });
  }

  async end(): Promise<void> {
    this.dead = true;
    if (this.child.exitCode !== null || this.child.signalCode !== null || this.child.pid === undefined) return;
    this.child.ref();
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  /** Other work goes before that of the sandbox. What it takes from a call is given back, so that code is not called slow where the machine is busy. */
  private deadline(id: number): NodeJS.Timeout {
    const { pid = 0 } = this.child;
    const usedBefore = processorTime(pid)?.usedMs ?? 0;
    const last = performance.now() + PATIENCE * this.callMs;
    const check = (): void => {
      if (this.current?.id !== id) return;
      const now = processorTime(pid);
      const leftMs = Math.min(this.callMs - ((now?.usedMs ?? 0) - usedBefore), last - performance.now());
      if (now?.isRunnable && leftMs > 0) this.current.timer = setTimeout(check, leftMs);
      else this.died(true);
    };
    return setTimeout(check, this.callMs);
  }

  private answered(id: number, answer: string): void {
    if (this.current?.id === id && typeof answer === 'string') this.take()?.resolve(answer);
  }

  private died(isOverdue: boolean): void {
    if (!this.dead) this.child.kill('SIGKILL');
    this.dead = true;
    this.take()?.reject(new SandboxDied(isOverdue));
  }

  private take() {
    const current = this.current;
    this.current = undefined;
    clearTimeout(current?.timer);
    this.unref();
    return current;
  }

  /** Without a call it keeps no service from ending. */
  private unref(): void {
    this.child.unref();
    this.child.channel?.unref();
    (this.child.stderr as Socket | null)?.unref();
  }
}

/** Nothing is passed on of the service's environment, and the process may read the interpreter and its own program alone. */
function spawn(interpreter: Interpreter, memoryMb: number, user: UserIds): ChildProcess {
  const flags = [
    '--permission',
    ...interpreter.folders.map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-read=${join(folder, '/')}`,
    '--disallow-code-generation-from-strings',
    '--no-warnings',
    `--max-old-space-size=${HEAP_MB}`,
  ];
  const program = [process.execPath, ...flags, interpreter.program, ...interpreter.args(memoryMb)];
  const [first, ...others] =
    process.platform === 'win32'
      ? program
      : ['/bin/sh', '-c', `ulimit -c 0; ulimit -t ${LIFE_SECONDS}; exec "$0" "$@"`, ...program];
  const [script, ...args] = others.splice(process.platform === 'win32' ? flags.length : 2);
  return fork(script as string, args, {
    ...{ execPath: first as string, execArgv: others, env: {}, serialization: 'json' },
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}
