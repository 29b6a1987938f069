import type { Stores } from '../shared/stores/open.ts';
import type { Health } from './routes/health.ts';

/** Milliseconds for which an answer is good: clients ask before nearly every operation. */
const GOOD_MS = 1_000;

/**
 * Whether the service can do its work. Not before every part has answered a real query once; afterwards while the record and the metadata store
 * answer. The loss of Temporal or Redis is named, and makes only what needs it fail.
 */
export function createHealth(stores: Stores, pingTemporal: () => Promise<void>): Health {
  const parts = [
    { name: 'record store (ClickHouse)', needed: true, ping: () => stores.clickhouse.ping() },
    { name: 'metadata store (Postgres)', needed: true, ping: () => stores.database.query('SELECT 1').then(() => undefined) },
    { name: 'Temporal: experiments wait, everything else works', needed: false, ping: pingTemporal },
    { name: 'Redis: live progress and limits across processes wait', needed: false, ping: () => stores.coordination.ping() },
  ];
  const answered = new Set<string>();
  let latest: { at: number; result: ReturnType<Health> } | undefined;

  const look = async () => {
    const lost = (
      await Promise.all(
        parts.map(async (part) => {
          try {
            await part.ping();
            answered.add(part.name);
            return [];
          } catch {
            return [part];
          }
        }),
      )
    ).flat();
    const starting = parts.some((part) => !answered.has(part.name));
    const message = lost.length === 0 ? 'ready' : `not answering: ${lost.map((part) => part.name).join('; ')}`;
    return { ok: !starting && !lost.some((part) => part.needed), message };
  };

  return () => {
    const now = Date.now();
    if (!latest || now - latest.at > GOOD_MS) latest = { at: now, result: look() };
    return latest.result;
  };
}
