import { ServiceError } from '../errors/errors.ts';
import type { RunRef } from '../projects/runs.ts';
import { togetherOf } from './provisionalTrace.ts';
import type { LoggedRecord } from './recordChange.ts';
import type { RecordWriter } from './recordWriter.ts';

/** A trace as the highest of its spans would open it. */
export interface WaitingTrace {
  run: RunRef;
  trace: LoggedRecord;
}

/** Keeps the waiting traces where other processes, and the next one, find them. */
export interface WaitingTraceStore {
  /** Those that are known keep their time, and are kept together with what is known of them. */
  keep(waiting: readonly WaitingTrace[], waitMs: number): Promise<void>;
  /** Returns those of these traces that wait. */
  find(traceIds: readonly string[]): Promise<WaitingTrace[]>;
  /** Those whose wait is over, the first ones first. */
  due(limit: number): Promise<WaitingTrace[]>;
  forget(traceIds: readonly string[]): Promise<void>;
}

interface Deps {
  writer: Pick<RecordWriter, 'write'>;
  store: WaitingTraceStore;
  /** Milliseconds after which spans open their trace whose root has not come. */
  waitMs: number;
  onError(err: unknown): void;
}

/** Traces that are opened at a time. A record of a trace with its texts is some kilobytes. */
const AT_A_TIME = 500;
/** Milliseconds between two looks for traces whose wait is over, while any of this process waits. */
const PAUSE_MS = 5_000;
const LEAST_PAUSE_MS = 100;
/** Ids of traces that wait, which are forgotten when their root comes. Of more the first are opened in vain, which changes nothing. */
const MAX_KEPT = 10_000;

/**
 * Traces of spans without a root, as the highest of these would open them. Each is opened after a time, unless its root has come: then what is logged here
 * changes nothing. The store keeps them: whatever becomes of this process, `openDue` opens them.
 */
export class StubTraces {
  readonly #deps: Deps;
  /** Heard of, and not kept yet. */
  #added = new Map<string, WaitingTrace>();
  readonly #kept = new Set<string>();
  #rooted: string[] = [];
  /** When the wait of the last one is over, in milliseconds of this process. */
  #until = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** @see keep */
  add(run: RunRef, trace: LoggedRecord): void {
    const known = this.#added.get(trace.id);
    this.#added.set(trace.id, { run, trace: known ? togetherOf(known.trace, trace) : trace });
  }

  /** Returns what the spans before said of traces whose root says no input or no output. */
  async find(traceIds: readonly string[]): Promise<LoggedRecord[]> {
    if (traceIds.length === 0) return [];
    return (await this.#deps.store.find(traceIds)).map(({ trace }) => trace);
  }

  /** The root is here. @see keep */
  remove(traceId: string): void {
    this.#added.delete(traceId);
    if (this.#kept.delete(traceId)) this.#rooted.push(traceId);
  }

  /**
   * Keeps those that were added, so that they are opened in any case, and forgets those that were removed. The request whose spans they are is answered
   * afterwards.
   */
  async keep(): Promise<void> {
    const { store, waitMs } = this.#deps;
    const [added, rooted] = [[...this.#added.values()], this.#rooted];
    this.#added = new Map();
    this.#rooted = [];
    if (rooted.length > 0) await store.forget(rooted);
    if (added.length === 0) return;
    await store.keep(added, waitMs);
    for (const { trace } of added) this.#kept.add(trace.id);
    for (const id of this.#kept) if (this.#kept.size > MAX_KEPT) this.#kept.delete(id);
    this.#until = performance.now() + waitMs;
    this.#setTimer();
  }

  #setTimer(): void {
    const pause = LEAST_PAUSE_MS + Math.min(PAUSE_MS, this.#deps.waitMs);
    this.#timer ??= setTimeout(() => void this.#look(), pause).unref();
  }

  async #look(): Promise<void> {
    const until = this.#until;
    const isLast = performance.now() > until;
    await this.openDue().catch(this.#deps.onError);
    this.#timer = undefined;
    if (!isLast || this.#until > until) this.#setTimer();
  }

  /** Opens the traces whose wait is over, of whichever process. A run that is gone takes its traces with it. */
  async openDue(): Promise<void> {
    const { store, writer } = this.#deps;
    for (;;) {
      const due = await store.due(AT_A_TIME);
      for (const ofRun of Map.groupBy(due, ({ run }) => `${run.projectId}/${run.runId}`).values()) {
        const changes = ofRun.map(({ trace }) => ({ action: 'log', record: trace }) as const);
        await writer.write((ofRun[0] as WaitingTrace).run, changes).catch(unlessPermanent);
      }
      const ids = due.map(({ trace }) => trace.id);
      await store.forget(ids);
      for (const id of ids) this.#kept.delete(id);
      if (due.length < AT_A_TIME) return;
    }
  }
}

const unlessPermanent = (err: unknown): void => {
  if (!(err instanceof ServiceError && err.permanent)) throw err;
};
