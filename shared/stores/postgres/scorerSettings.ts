import { z } from 'zod';
import type { Database } from './database.ts';
import { type Listing, listedValues, slices } from './listScan.ts';

/** The settings of the runs of a project, each with every scorer `config` in them. */
const settingsListing = (projectId: string): Listing => ({
  ...{ table: 'run_scorer_settings', alias: 's', within: 's.project_id = $1', conditions: [], values: [projectId] },
  joins: 'CROSS JOIN LATERAL jsonb_array_elements(s.scorers) AS config',
  walk: { columns: [['run_id', 'uuid']], descending: false },
});
const UsedRow = z.object({ id: z.string(), config: z.unknown(), changed_ms: z.number() });
const usedSql = {
  each: `config ->> 'id' AS id, config, extract(epoch FROM s.updated_at) * 1000 AS changed_ms`,
  sql: `SELECT coalesce(jsonb_agg(used), '[]') FROM (SELECT DISTINCT ON (id) id, config, changed_ms FROM listed ORDER BY id, changed_ms DESC) used`,
};

/** Ids of the scorers that runs of these projects use. */
export async function usedScorers(database: Database, projectIds: readonly string[]): Promise<string[]> {
  const used = new Set<string>();
  for (const projectId of projectIds)
    for (const id of await listedValues(database, settingsListing(projectId), `config ->> 'id'`, z.string())) used.add(id);
  return [...used];
}

/** How each scorer that runs of a project use is set, in the order of their ids: where runs differ, as the run has it that was changed last. */
export async function newestSettings(database: Database, projectId: string): Promise<unknown[]> {
  const newest = new Map<string, z.output<typeof UsedRow>>();
  for await (const found of slices(database, settingsListing(projectId), usedSql))
    for (const used of z.array(UsedRow).parse(found))
      if ((newest.get(used.id)?.changed_ms ?? 0) < used.changed_ms) newest.set(used.id, used);
  return [...newest.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ config }) => config);
}
