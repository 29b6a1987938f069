import type { ExperimentRun } from '../shared/experiments/experiment.ts';
import type { RecordWriter } from '../shared/records/recordWriter.ts';
import type { Stores } from '../shared/stores/open.ts';
import type { Health } from './routes/health.ts';

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
 * Whether the service can do its work. Not before every part has answered a real query once; afterwards while the record and the metadata store
 * answer and records are stored. The loss of Temporal or Redis is named, and makes only what needs it fail; so are runs whose workflows do not get on,
 * what the stores found broken at the start, a sweep that is held, and records that wait since another process has locked their run.
 */
export function createHealth(
  stores: Stores,
  pingTemporal: () => Promise<void>,
  stuckRuns: () => readonly Pick<ExperimentRun, 'name' | 'experimentId'>[],
  writing: Pick<RecordWriter, 'waitingMs'>,
  sweepHeld: () => Promise<string | undefined>,
): Health {
  const parts = [
    { name: 'record store (ClickHouse)', needed: true, ping: () => stores.clickhouse.ping() },
    { name: 'metadata store (Postgres)', needed: true, ping: () => stores.database.query('SELECT 1') },
    { name: 'Temporal (experiments wait, everything else works)', needed: false, ping: pingTemporal },
    { name: 'Redis (live progress and limits across processes wait)', needed: false, ping: () => stores.coordination.ping() },
  ];
  const answered = new Set<string>();

  const look = async () => {
    const held = sweepHeld().catch(() => undefined); // a store that does not answer is named itself
    const answers = await Promise.all(parts.map((part) => answersInTime(part.ping)));
    for (const [index, part] of parts.entries()) if (answers[index]) answered.add(part.name);
    const lost = parts.filter((_part, index) => !answers[index]);
    const { stored, locked } = writing.waitingMs;
    const stands = stored > STANDING_MS && locked === 0;
    const ok = answered.size === parts.length && !lost.some((part) => part.needed) && !stands;
    const stuck = stuckRuns();
    const named = stuck.slice(0, NAMED_RUNS).map(({ name, experimentId }) => `${JSON.stringify(name)} (${experimentId})`);
    const disk = stores.diskProblem();
    const troubles = [
      ...(disk ? [`nothing can be stored: ${disk}`] : []),
      ...stores.warnings,
      ...(lost.length > 0 ? [`not answering: ${lost.map((part) => part.name).join('; ')}`] : []),
      ...(stands ? [`records have waited to be stored for ${seconds(stored)} s`] : []),
      ...(locked > LOCKED_MS
        ? [
            `records have waited for ${seconds(locked)} s since another process has locked their project or run; others are stored`,
          ]
        : []),
      ...(answers[1] ? [await held].filter((reason) => reason !== undefined) : []),
      ...(stuck.length > 0 ? [`the workflows of ${stuck.length} runs do not get on: ${named.join(', ')}`] : []),
    ];
    return { ok, message: troubles.join('. ') || 'ready' };
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

const seconds = (ms: number): number => Math.round(ms / 1_000);

async function answersInTime(ping: () => Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), PATIENCE_MS);
  const answer = ping().then(
    () => true,
    () => false,
  );
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
