import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname, join } from 'node:path';
import type { CodeIsolation, OperatorCode } from '../../shared/childProcesses/codeIsolation.ts';
import { lowerPriority } from '../../shared/childProcesses/lowerPriority.ts';
import { Hopeless, type Life, Respawning } from '../../shared/childProcesses/respawning.ts';
import { onAbort } from '../../shared/concurrency/onAbort.ts';
import { givenInput } from '../../shared/datasets/experimentRow.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { ExperimentRow, ExperimentRun } from '../../shared/experiments/experiment.ts';
import type { RowResult } from '../../shared/experiments/rowTrace.ts';
import type { RowContext } from '../../shared/experiments/runRows.ts';
import { parsedOrNothing } from '../../shared/json/parseJson.ts';
import type { LoggedSpan } from '../../shared/recordSchemas/loggedRecords.ts';

/** A row as a runner module gets it. */
export interface ModuleRow {
  id: string;
  /** Position in the dataset version or list of records. */
  ordinal: number;
  /** Repetition of the row, from 0. */
  trial: number;
  input: string;
  expected: string | null;
  metadata: Record<string, string>;
  values: Record<string, unknown>;
}

export type HostRequest =
  | {
      type: 'run';
      id: number;
      /** A `ModuleRow` as JSON: what reads messages rounds long numbers. */
      row: string;
      experiment: { id: string; name: string; projectId: string };
      attempt: number;
    }
  | { type: 'abort'; id: number; reason: string };

export type HostMessage =
  | { type: 'ready' }
  | { type: 'broken'; message: string }
  /** An abort has arrived: the event loop of the process turns. */
  | { type: 'heard'; id: number }
  | {
      type: 'done';
      id: number;
      startedAt: number;
      durationNs: number;
      output: string | null;
      error?: string;
      /** A list of `LoggedSpan` as JSON. */
      spans: string;
    };

export const runnerModules: OperatorCode = {
  what: 'runner modules',
  setting: 'RUNNERS_DIR',
  program: join(import.meta.dirname, `moduleHost${extname(import.meta.filename)}`),
};

/** A module, and the run whose rows it is for. */
export interface HostedModule {
  run: ExperimentRun;
  modulePath: string;
  isolation: CodeIsolation;
  /** MiB of the JavaScript heap of each process; one that needs more dies. */
  memoryMb: number;
}

/** Milliseconds that a row gets to react to the end of its time. */
const ABORT_GRACE_MS = 2_000;

/** The process that ran a row has died, or had to be ended. */
export class HostDied extends Error {
  /** When the row was started in it. */
  readonly startedAt: Date;
  /** The result of the row, when the row is known to have ended the process. */
  readonly verdict: RowResult | undefined;
  constructor(startedAt: Date, verdict?: RowResult) {
    super('the process that ran this row has died');
    this.startedAt = startedAt;
    this.verdict = verdict;
  }
}

/** A process with a module in it, replaced when it has died. */
export class ModuleHost {
  private readonly processes: Respawning<HostProcess>;

  constructor(module: HostedModule) {
    this.processes = new Respawning(() => new HostProcess(module));
  }

  /** @throws HostDied when the process dies on the row, or on another that it runs at the same time; ServiceError when the module cannot be loaded. */
  async run(row: ExperimentRow, context: RowContext): Promise<RowResult> {
    const host = await this.processes.get().catch((err: unknown) => {
      if (!(err instanceof Hopeless)) throw err;
      throw new ServiceError('BadRequest', `the runner module cannot be loaded: ${err.message}`, { cause: err });
    });
    context.signal.throwIfAborted();
    return host.run(row, context);
  }

  warm(): void {
    this.processes.warm();
  }

  close(): Promise<void> {
    return this.processes.close();
  }
}

interface Running {
  startedAt: Date;
  overdue: boolean;
  heard: boolean;
  timer: NodeJS.Timeout;
  resolve(result: RowResult): void;
  reject(err: unknown): void;
  /** Stops listening for the end of the row's signal. */
  forget(): void;
}

/** One life of a process. */
class HostProcess implements Life {
  readonly ready: Promise<void>;
  dead = false;
  private readonly run_: ExperimentRun;
  private readonly child: ChildProcess;
  private readonly running = new Map<number, Running>();
  private nextId = 1;

  constructor({ run, modulePath, isolation, memoryMb }: HostedModule) {
    this.run_ = run;
    this.child = fork(runnerModules.program, [modulePath], {
      serialization: 'json',
      execArgv: [...process.execArgv, `--max-old-space-size=${memoryMb}`],
      ...isolation,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    lowerPriority(this.child.pid);
    this.ready = new Promise((resolve, reject) => {
      this.child.on('message', (message: HostMessage | null) => {
        // The module has the same channel and may say anything.
        if (!message) return;
        if (message.type === 'ready') resolve();
        else if (message.type === 'broken') reject(new Hopeless(message.message));
        else if (message.type === 'heard') this.heard(message.id);
        else if (message.type === 'done') this.finish(message);
      });
      this.child.once('exit', (code, signal) => {
        reject(new Error(`ended at its start (${signal ?? code})`));
        this.died();
      });
      this.child.once('error', (err) => {
        reject(err);
        this.died();
      });
    });
    this.ready.catch(() => undefined); // a process that was loaded and ends later rejects nothing that anybody waits for
  }

  run(row: ExperimentRow, context: RowContext): Promise<RowResult> {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      const forget = onAbort(context.signal, () => {
        this.send({ type: 'abort', id, reason: 'the row was given up' });
        this.take(id)?.reject(context.signal.reason);
      });
      const timer = setTimeout(() => this.overdue(id), this.run_.settings.rowTimeLimitMs);
      const startedAt = new Date();
      this.running.set(id, { startedAt, overdue: false, heard: false, timer, resolve, reject, forget });
      const { rowId, sourceOrdinal, trial, expected, metadata, variables } = row;
      this.send({
        type: 'run',
        id,
        row: JSON.stringify({
          id: rowId,
          ordinal: sourceOrdinal,
          trial,
          input: givenInput(row),
          expected,
          metadata,
          values: variables,
        } satisfies ModuleRow),
        experiment: { id: this.run_.experimentId, name: this.run_.name, projectId: this.run_.projectId },
        attempt: context.attempt,
      });
    });
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null || this.child.pid === undefined) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  private send(request: HostRequest): void {
    this.child.send(request, () => undefined); // a closed channel is followed by the `exit` that answers for all rows
  }

  private overdue(id: number): void {
    const entry = this.running.get(id);
    if (!entry) return;
    entry.overdue = true;
    this.send({ type: 'abort', id, reason: 'the row took longer than its time limit' });
    entry.timer = setTimeout(() => {
      // A process that hears is well: only this row does not end, and is left to itself. One that does not hear is held by one of its rows.
      if (entry.heard) this.take(id)?.resolve(this.tooLong(entry));
      else this.died();
    }, ABORT_GRACE_MS);
  }

  private heard(id: number): void {
    const entry = this.running.get(id);
    if (entry) entry.heard = true;
  }

  private finish(message: Extract<HostMessage, { type: 'done' }>): void {
    const entry = this.take(message.id);
    if (!entry) return;
    const { output, durationNs, error } = message;
    const spans = (parsedOrNothing(message.spans) ?? []) as LoggedSpan[];
    if (entry.overdue) entry.resolve({ ...this.tooLong(entry), spans });
    else
      entry.resolve({
        output,
        spans,
        startedAt: new Date(message.startedAt),
        durationNs,
        attempts: 1,
        ...(error === undefined ? {} : { error }),
      });
  }

  /** Ends the process, if it has not ended by itself, and gives all its rows back. */
  private died(): void {
    if (!this.dead) this.child.kill('SIGKILL');
    this.dead = true;
    const alone = this.running.size === 1;
    for (const id of [...this.running.keys()]) {
      const entry = this.take(id) as Running;
      entry.reject(new HostDied(entry.startedAt, alone && entry.overdue ? this.tooLong(entry) : undefined));
    }
  }

  private take(id: number): Running | undefined {
    const entry = this.running.get(id);
    if (!entry) return undefined;
    this.running.delete(id);
    clearTimeout(entry.timer);
    entry.forget();
    return entry;
  }

  private tooLong({ startedAt }: Running): RowResult {
    return {
      output: null,
      error: `the row took longer than its time limit of ${this.run_.settings.rowTimeLimitMs} ms`,
      spans: [],
      startedAt,
      durationNs: (Date.now() - startedAt.getTime()) * 1_000_000,
      attempts: 1,
    };
  }
}
