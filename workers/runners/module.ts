import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { ServiceError } from '../../shared/errors.ts';
import type { ExperimentRow, ExperimentRun } from '../../shared/experiments/experiment.ts';
import type { RowResult } from '../../shared/experiments/rowTrace.ts';
import type { RowContext, RowRunner } from '../../shared/experiments/runRows.ts';
import type { LoggedSpan } from '../../shared/wire/records.ts';

export type HostRequest =
  | {
      type: 'run';
      id: number;
      row: {
        id: string;
        ordinal: number;
        input: string;
        expected: string | null;
        metadata: Record<string, string>;
        values: Record<string, unknown>;
      };
      experiment: { id: string; name: string; projectId: string };
      attempt: number;
    }
  | { type: 'abort'; id: number; reason: string };

export type HostMessage =
  | { type: 'ready' }
  | { type: 'broken'; message: string }
  | {
      type: 'done';
      id: number;
      startedAt: number;
      durationNs: number;
      output: string | null;
      error?: string;
      spans: LoggedSpan[];
    };

/** Times a row may take its process down before it is recorded as failed. */
const MAX_CRASHES_PER_ROW = 3;
/** Milliseconds that a row gets to react to the end of its time before its process is ended. */
const ABORT_GRACE_MS = 2_000;

type Environment = Readonly<Record<string, string | undefined>>;

interface Running {
  row: ExperimentRow;
  context: RowContext;
  resolve(result: RowResult): void;
  reject(err: unknown): void;
  startedAt: Date;
  timer: NodeJS.Timeout;
  off(): void;
}

/**
 * Runs rows in a child process that holds the module. When the process dies, the rows it had are run again, one at a time until the one that
 * kills it is found: that row fails after {@link MAX_CRASHES_PER_ROW} deaths, the others finish.
 */
export function moduleRunner(run: ExperimentRun, modulePath: string, environment: Environment): RowRunner {
  return new ModuleProcess(run, modulePath, environment);
}

class ModuleProcess implements RowRunner {
  private readonly run_: ExperimentRun;
  private readonly modulePath: string;
  private readonly environment: Environment;
  private child: Promise<ChildProcess> | undefined;
  private readonly running = new Map<number, Running>();
  private readonly crashes = new Map<string, number>();
  /** Rows under suspicion run alone, one after another. */
  private quarantine: Promise<unknown> = Promise.resolve();
  private nextId = 1;
  private closed = false;

  constructor(run: ExperimentRun, modulePath: string, environment: Environment) {
    this.run_ = run;
    this.environment = environment;
    this.modulePath = modulePath;
  }

  async run(row: ExperimentRow, context: RowContext): Promise<RowResult> {
    for (;;) {
      const crashes = this.crashes.get(row.rowId) ?? 0;
      if (crashes >= MAX_CRASHES_PER_ROW) return failure(row, `the runner's process died ${crashes} times on this row`);
      try {
        if (crashes === 0) return await this.send(row, context);
        const alone = this.quarantine.then(() => this.send(row, context));
        this.quarantine = alone.catch(() => undefined);
        return await alone;
      } catch (err) {
        if (!(err instanceof HostDied)) throw err;
        if (err.timedOut)
          return failure(row, `the row took longer than its time limit of ${this.run_.settings.rowTimeLimitMs} ms`);
      }
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    const child = await this.child?.catch(() => undefined);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  private async send(row: ExperimentRow, context: RowContext): Promise<RowResult> {
    this.child ??= this.start();
    const child = await this.child;
    context.signal.throwIfAborted();
    const id = this.nextId++;
    return new Promise<RowResult>((resolve, reject) => {
      const overdue = () => {
        child.send({ type: 'abort', id, reason: 'the row took longer than its time limit' } satisfies HostRequest);
        this.endIfStuck(child, id, true);
      };
      const onAbort = () => {
        child.send({ type: 'abort', id, reason: 'the run was cancelled' } satisfies HostRequest);
        this.forget(id)?.reject(context.signal.reason);
      };
      context.signal.addEventListener('abort', onAbort, { once: true });
      this.running.set(id, {
        row,
        context,
        resolve,
        reject,
        startedAt: new Date(),
        timer: setTimeout(overdue, this.run_.settings.rowTimeLimitMs),
        off: () => context.signal.removeEventListener('abort', onAbort),
      });
      const { rowId, ordinal, input, expected, metadata, variables } = row;
      child.send({
        type: 'run',
        id,
        row: { id: rowId, ordinal, input, expected, metadata, values: variables },
        experiment: { id: this.run_.experimentId, name: this.run_.name, projectId: this.run_.projectId },
        attempt: context.attempt,
      } satisfies HostRequest);
    });
  }

  /** A row that does not heed its abort is stuck in a loop: only the end of the process frees it. */
  private endIfStuck(child: ChildProcess, id: number, timedOut: boolean): void {
    setTimeout(() => {
      const entry = this.running.get(id);
      if (!entry) return;
      this.forget(id);
      entry.reject(new HostDied(timedOut));
      child.kill('SIGKILL');
    }, ABORT_GRACE_MS);
  }

  private forget(id: number): Running | undefined {
    const entry = this.running.get(id);
    if (!entry) return undefined;
    this.running.delete(id);
    clearTimeout(entry.timer);
    entry.off();
    return entry;
  }

  private start(): Promise<ChildProcess> {
    const child = fork(join(import.meta.dirname, 'moduleHost.ts'), [this.modulePath], {
      serialization: 'json',
      // A registered runner sees no setting of the service: no key, no address.
      env: Object.fromEntries(['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG'].map((name) => [name, this.environment[name]])),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    return new Promise((resolve, reject) => {
      child.on('message', (message: HostMessage) => {
        if (message.type === 'ready') resolve(child);
        else if (message.type === 'broken')
          reject(new ServiceError('BadRequest', `the runner module cannot be loaded: ${message.message}`));
        else this.finish(message);
      });
      child.once('exit', (code, signal) => {
        this.child = undefined;
        reject(new ServiceError('Unavailable', `the runner's process ended at its start (${signal ?? code})`));
        if (this.closed) return;
        for (const id of [...this.running.keys()]) {
          const entry = this.forget(id) as Running;
          this.crashes.set(entry.row.rowId, (this.crashes.get(entry.row.rowId) ?? 0) + 1);
          entry.reject(new HostDied(false));
        }
      });
      child.once('error', reject);
    });
  }

  private finish(message: Extract<HostMessage, { type: 'done' }>): void {
    this.forget(message.id)?.resolve({
      output: message.output,
      spans: message.spans,
      startedAt: new Date(message.startedAt),
      durationNs: message.durationNs,
      ...(message.error === undefined ? {} : { error: message.error }),
    });
  }
}

class HostDied extends Error {
  readonly timedOut: boolean;
  constructor(timedOut: boolean) {
    super('the process that ran this row has died');
    this.timedOut = timedOut;
  }
}

const failure = (_row: ExperimentRow, error: string): RowResult => ({
  output: null,
  error,
  spans: [],
  startedAt: new Date(),
  durationNs: 0,
});
