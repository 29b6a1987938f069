import type { Client, Connection } from '@temporalio/client';
import type { Logger } from 'pino';
import { type SearchAttribute, searchAttributes } from '../../experiments/workflow.ts';
import { ensureSearchAttributes } from './connect.ts';
import { scheduleSweeps } from './sweepSchedule.ts';

const PATIENCE_MS = 10_000;

export interface Namespace {
  /** To be repeated: the server may have been replaced by an empty one. */
  prepare(): Promise<void>;
  /** Those that the namespace has, as the last look found. */
  searchAttributes(): readonly SearchAttribute[];
}

/** What our workflows find in their namespace: search attributes, as far as they may be added, and the daily sweep. */
export function temporalNamespace(connection: Connection, client: Client, name: string, log: Logger): Namespace {
  const wanted = Object.keys(searchAttributes) as SearchAttribute[];
  // Until it is known what the namespace has, nothing is set: a workflow that sets what is not there gets nowhere.
  let missing: readonly SearchAttribute[] = wanted;
  let isSaid = '';
  return {
    async prepare() {
      await scheduleSweeps(client);
      missing = await connection.withDeadline(Date.now() + PATIENCE_MS, () => ensureSearchAttributes(connection, name));
      if (missing.length > 0 && String(missing) !== isSaid) log.warn(sentenceFor(name, missing));
      isSaid = String(missing);
    },
    searchAttributes: () => wanted.filter((one) => !missing.includes(one)),
  };
}

const sentenceFor = (namespace: string, missing: readonly SearchAttribute[]): string =>
  `the Temporal namespace ${namespace} lacks search attributes that may not be added from here: runs work, but Temporal's own pages cannot list them by these; ` +
  `have them added with: temporal operator search-attribute create --namespace ${namespace} ` +
  missing.map((name) => `--name ${name} --type ${searchAttributes[name]}`).join(' ');
