import type { ExperimentRun } from '../shared/experiments/experiment.ts';
import type { Stores } from '../shared/stores/open.ts';
import type { Health } from './routes/health.ts';

/** Milliseconds for which an answer is good: clients ask before nearly every operation. */
const GOOD_MS = 1_000;
/** Milliseconds after which a part counts as not answering. */
const PATIENCE_MS = 2_000;
/** Runs that are named in a message. */
const NAMED_RUNS = 5;

/**
 * Whether the service can do its work. Not before every part has answered a real query once; afterwards while the record and the metadata store
 * answer. The loss of Temporal or Redis is named, and makes only what needs it fail; so are runs whose workflows do not get on, and what the stores found broken at the start.
 */
export function createHealth(
  stores: Stores,
  pingTemporal: () => Promise<void>,
  stuckRuns: () => readonly Pick<ExperimentRun, 'name' | 'experimentId'>[],
): Health {
  const parts = [
    { name: 'record store (ClickHouse)', needed: true, ping: () => stores.clickhouse.ping() },
    { name: 'metadata store (Postgres)', needed: true, ping: () => stores.database.query('SELECT 1') },
    { name: 'Temporal (experiments wait, everything else works)', needed: false, ping: pingTemporal },
    { name: 'Redis (live progress and limits across processes wait)', needed: false, ping: () => stores.coordination.ping() },
  ];
  const answered = new Set<string>();

  const look = async () => {
    const answers = await Promise.all(parts.map((part) => answersInTime(part.ping)));
    for (const [index, part] of parts.entries()) if (answers[index]) answered.add(part.name);
    const lost = parts.filter((_part, index) => !answers[index]);
    const ok = answered.size === parts.length && !lost.some((part) => part.needed);
    const stuck = stuckRuns();
    const named = stuck.slice(0, NAMED_RUNS).map(({ name, experimentId }) => `${JSON.stringify(name)} (${experimentId})`);
    const disk = stores.diskProblem();
    const troubles = [
      ...(disk ? [`nothing can be stored: ${disk}`] : []),
      ...stores.warnings,
      ...(lost.length > 0 ? [`not answering: ${lost.map((part) => part.name).join('; ')}`] : []),
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

async function answersInTime(ping: () => Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), PATIENCE_MS);
  const answer = ping().then(
    () => true,
    () => false,
  );
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
