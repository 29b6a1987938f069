import type { ExperimentRun } from '../../shared/experiments/experiment.ts';
import type { RecordWriter } from '../../shared/records/recordWriter.ts';
import type { Stores } from '../../shared/stores/open.ts';

/** Says whether the service can do its work, in a sentence that names the parts it cannot reach. Cheap: clients ask before nearly every operation. */
export type Health = () => Promise<{ ok: boolean; message: string; parts: readonly PartHealth[] }>;

export type PartId = 'record_store' | 'metadata_store' | 'temporal' | 'coordination';

/** One part of the service, as it answered. */
export interface PartHealth {
  id: PartId;
  label: string;
  /** Without it the service is not ready. */
  isNeeded: boolean;
  /** Undefined where it did not answer in time. */
  latencyMs: number | undefined;
}

/** Milliseconds for which an answer is good: clients ask before nearly every operation. */
const GOOD_MS = 1_000;
/** Milliseconds after which a part counts as not answering. */
const PATIENCE_MS = 2_000;
/** Milliseconds after which records that wait for another process are mentioned. */
const LOCKED_MS = 3_000;
/** Milliseconds after which records that wait to be stored count as a queue that stands. */
const STANDING_MS = 15_000;
/** Runs that are named in a message. */
const NAMED_RUNS = 5;

/**
 * Creates the check that the service can do its work. It fails until every part has answered a real query once, and later when the record store or
 * the metadata store does not answer or records cannot be stored. It names other problems without failing: the loss of Temporal or Redis, runs whose
 * workflows do not progress, damage that the stores found at the start, a sweep that is held, and records that wait for another process' lock.
 */
export function createHealth(
  stores: Stores,
  pingTemporal: () => Promise<void>,
  stuckRuns: () => readonly Pick<ExperimentRun, 'name' | 'experimentId'>[],
  writing: Pick<RecordWriter, 'waitingMs'>,
  sweepHeld: () => Promise<string | undefined>,
): Health {
  const parts: readonly Part[] = [
    { id: 'record_store', name: 'record store (ClickHouse)', needed: true, ping: () => stores.clickhouse.ping() },
    { id: 'metadata_store', name: 'metadata store (Postgres)', needed: true, ping: () => stores.database.query('SELECT 1') },
    { id: 'temporal', name: 'Temporal', without: 'experiments wait, everything else works', needed: false, ping: pingTemporal },
    {
      ...{ id: 'coordination', name: 'Redis', without: 'live progress and limits across processes wait' },
      ...{ needed: false, ping: () => stores.coordination.ping() },
    },
  ];
  const answered = new Set<string>();

  const look = async () => {
    const held = sweepHeld().catch(() => undefined); // a store that does not answer is named itself
    const answers = await Promise.all(parts.map((part) => msToAnswer(part.ping)));
    for (const [index, part] of parts.entries()) if (answers[index] !== undefined) answered.add(part.name);
    const lost = parts.filter((_part, index) => answers[index] === undefined);
    const { stored, locked } = writing.waitingMs;
    const stands = stored > STANDING_MS && locked === 0;
    const ok = answered.size === parts.length && !lost.some((part) => part.needed) && !stands;
    const stuck = stuckRuns();
    const named = stuck.slice(0, NAMED_RUNS).map(({ name, experimentId }) => `${JSON.stringify(name)} (${experimentId})`);
    const disk = stores.diskProblem();
    const troubles = [
      ...(disk ? [`nothing can be stored: ${disk}`] : []),
      ...stores.warnings,
      ...(lost.length > 0 ? [`not answering: ${lost.map(nameOf).join('; ')}`] : []),
      ...(stands ? [`records have waited to be stored for ${seconds(stored)} s`] : []),
      ...(locked > LOCKED_MS
        ? [
            `records have waited for ${seconds(locked)} s since another process has locked their project or run; others are stored`,
          ]
        : []),
      ...(answers[1] !== undefined ? [await held].filter((reason) => reason !== undefined) : []),
      ...(stuck.length > 0 ? [`the workflows of ${stuck.length} runs do not get on: ${named.join(', ')}`] : []),
    ];
    const seen = parts.map(({ id, name, needed }, index) => ({ id, label: name, isNeeded: needed, latencyMs: answers[index] }));
    return { ok, message: troubles.join('. ') || 'ready', parts: seen };
  };

  let latest: ReturnType<Health> | undefined;
  return () => {
    if (!latest) {
      latest = look();
      const forget = () => {
        latest = undefined;
      };
      void latest.finally(() => setTimeout(forget, GOOD_MS).unref());
    }
    return latest;
  };
}

interface Part {
  id: PartId;
  name: string;
  /** Says what the service cannot do without this part. */
  without?: string;
  needed: boolean;
  ping(): Promise<unknown>;
}

const nameOf = ({ name, without }: Part): string => (without === undefined ? name : `${name} (${without})`);

const seconds = (ms: number): number => Math.round(ms / 1_000);

/** Undefined where it does not answer in time. */
async function msToAnswer(ping: () => Promise<unknown>): Promise<number | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
  const start = performance.now();
  const answer = ping().then(
    () => performance.now() - start,
    () => undefined,
  );
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
