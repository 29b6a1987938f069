import type { RunRef } from '../projects/runs.ts';
import type { LoggedRecord } from './recordChange.ts';
import type { RecordWriter } from './recordWriter.ts';

interface Deps {
  writer: Pick<RecordWriter, 'write'>;
  /** Milliseconds after which spans open their trace whose root has not come. */
  waitMs: number;
  onError(err: unknown): void;
}

interface Waiting {
  run: RunRef;
  trace: LoggedRecord;
  until: number;
}

/** Traces that wait in a process at a time; of more the first are opened at once. A record of a trace with its texts is some kilobytes. */
const MAX_WAITING = 5_000;

/**
 * Traces of spans without a root, as the highest of these would open them. Each is opened after a time, unless its root has come: then what is logged here
 * changes nothing. They are known to this process alone: one that ends leaves them as they are.
 */
export class StubTraces {
  readonly #deps: Deps;
  /** In the order in which they came. */
  readonly #waiting = new Map<string, Waiting>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  add(run: RunRef, trace: LoggedRecord): void {
    const known = this.#waiting.get(trace.id);
    if (known && (known.trace.created_at ?? '') <= (trace.created_at ?? '')) return;
    this.#waiting.set(trace.id, { run, trace, until: known?.until ?? performance.now() + this.#deps.waitMs });
    if (this.#waiting.size > MAX_WAITING) this.#open(performance.now(), this.#waiting.size - MAX_WAITING);
    else this.#setTimer();
  }

  /** The root is here. */
  remove(traceId: string): void {
    this.#waiting.delete(traceId);
  }

  #setTimer(): void {
    const [next] = this.#waiting.values();
    if (this.#timer || !next) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#open(performance.now(), 0);
        this.#setTimer();
      },
      Math.max(100, next.until - performance.now()),
    ).unref();
  }

  /** @param atLeast opens so many, also before their time */
  #open(now: number, atLeast: number): void {
    const due: Waiting[] = [];
    for (const [id, one] of this.#waiting) {
      if (one.until > now && due.length >= atLeast) break;
      this.#waiting.delete(id);
      due.push(one);
    }
    for (const ofRun of Map.groupBy(due, ({ run }) => `${run.projectId}/${run.runId}`).values())
      this.#deps.writer
        .write(
          (ofRun[0] as Waiting).run,
          ofRun.map(({ trace }) => ({ action: 'log', record: trace })),
        )
        .catch(this.#deps.onError);
  }
}
