import type { Client, Connection } from '@temporalio/client';
import type { Logger } from 'pino';
import { type SearchAttribute, searchAttributes } from '../../experiments/workflow.ts';
import type { RecurringJob } from '../../maintenance/recurringJob.ts';
import { ensureSearchAttributes, isRefusedByTemporal, namespaceId } from './connect.ts';
import { agreeJobSchedules, createJobSchedules, scheduleSweeps, startJobs } from './jobSchedules.ts';

const PATIENCE_MS = 10_000;

/**
 * The attributes that a namespace had, it has: one that is removed is missed after so long, one that lacked is seen at the next look. Each look leaves
 * a connection open within a server of 1.29 (its ListSearchAttributes makes one and does not close it): twice a minute, they took 30 MB an hour there.
 */
const LOOK_AGAIN_MS = 600_000;

export interface Namespace {
  /** To be repeated: the server may have been replaced by an empty one. The first time that it succeeds, schedules follow changes of their jobs. */
  prepare(jobs: readonly RecurringJob[]): Promise<void>;
  /** Runs the jobs that are run at each start. */
  startJobs(jobs: readonly RecurringJob[]): Promise<void>;
  /** Those that the namespace has, as the last look found. */
  searchAttributes(): readonly SearchAttribute[];
}

/** Prepares the namespace for our workflows: adds search attributes, as far as the server allows it, and the schedules of recurring work. */
export function temporalNamespace(connection: Connection, client: Client, name: string, log: Logger): Namespace {
  const wanted = Object.keys(searchAttributes) as SearchAttribute[];
  // Until it is known what the namespace has, nothing is set: a workflow that sets what is not there gets nowhere.
  let missing: readonly SearchAttribute[] = wanted;
  let isSaid = '';
  let complete: { id: string; at: number } | undefined;
  const lookAtAttributes = async (): Promise<void> => {
    const id = await namespaceId(connection, name);
    if (complete && complete.id === id && Date.now() - complete.at < LOOK_AGAIN_MS) return;
    missing = await ensureSearchAttributes(connection, name);
    complete = missing.length === 0 && id !== undefined ? { id, at: Date.now() } : undefined;
  };
  let schedules: 'unknown' | 'agreed' | 'refused' = 'unknown';
  const schedule = async (jobs: readonly RecurringJob[]): Promise<void> => {
    try {
      await client.withDeadline(Date.now() + PATIENCE_MS, async () => {
        await scheduleSweeps(client);
        await (schedules === 'agreed' ? createJobSchedules(client, jobs) : agreeJobSchedules(client, jobs));
      });
      schedules = 'agreed';
    } catch (err) {
      if (!isRefusedByTemporal(err)) throw err;
      if (schedules !== 'refused') log.error(withoutSchedules(name, jobs));
      schedules = 'refused';
    }
  };
  return {
    async prepare(jobs) {
      // First, and whatever becomes of the schedules: runs that start meanwhile could never be found by these.
      await connection.withDeadline(Date.now() + PATIENCE_MS, lookAtAttributes);
      if (missing.length > 0 && String(missing) !== isSaid) log.warn(sentenceFor(name, missing));
      isSaid = String(missing);
      await schedule(jobs);
    },
    async startJobs(jobs) {
      if (schedules === 'agreed') await client.withDeadline(Date.now() + PATIENCE_MS, () => startJobs(client, jobs));
    },
    searchAttributes: () => wanted.filter((one) => !missing.includes(one)),
  };
}

const withoutSchedules = (namespace: string, jobs: readonly RecurringJob[]): string =>
  `the Temporal namespace ${namespace} refuses schedules, so nothing that recurs is done (${jobs.map(({ name }) => name).join(', ')}, and the daily sweep): ` +
  'let the key or certificate of this service create schedules there, or use a Temporal server of 1.17 or newer with frontend.enableSchedules on';

const sentenceFor = (namespace: string, missing: readonly SearchAttribute[]): string =>
  `the Temporal namespace ${namespace} lacks search attributes that may not be added from here: runs work, but Temporal's own pages cannot list them by these; ` +
  `have them added with: temporal operator search-attribute create --namespace ${namespace} ` +
  missing.map((name) => `--name ${name} --type ${searchAttributes[name]}`).join(' ');
