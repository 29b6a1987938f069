import { z } from 'zod';
import { ServiceError } from '../../errors/errors.ts';
import type { ExperimentGroup, ExperimentGroupStore, GroupChoice } from '../../experiments/experimentStore.ts';
import { SYSTEM_GROUP } from '../../experiments/groups.ts';
import { newId } from '../../identifiers/ids.ts';
import { UserInfo } from '../../wire/datasets.ts';
import type { Database, Queries } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { byCreation, fewIds, type Listing, listedItems, slices } from './listScan.ts';
import { userInfoSql } from './userInfo.ts';

const GroupRow = z
  .object({
    id: z.string(),
    project_id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    is_system: z.boolean(),
    created_at: z.date(),
    updated_at: z.date(),
    created_by: UserInfo.nullable(),
  })
  .transform(inCamelCase);

interface Figures {
  experimentCount: number;
  latestRunDate: Date | null;
  datasets: { id: string; name: string }[];
}
const FiguresRows = z.array(
  z.object({
    group_id: z.string(),
    count: z.number(),
    latest_ms: z.number(),
    datasets: z.array(z.object({ id: z.string(), name: z.string() })),
  }),
);
const figuresSql = {
  each: 'e.group_id, e.dataset_id, e.dataset_name, extract(epoch FROM greatest(r.created_at, e.started_at)) * 1000 AS latest_ms',
  sql: `SELECT coalesce(jsonb_agg(figures), '[]') FROM (
    SELECT group_id, count(*) AS count, max(latest_ms) AS latest_ms,
           coalesce(jsonb_agg(DISTINCT jsonb_build_object('id', dataset_id, 'name', dataset_name))
                      FILTER (WHERE dataset_id IS NOT NULL AND dataset_name IS NOT NULL), '[]') AS datasets
      FROM listed GROUP BY group_id) figures`,
};

/** The figures of groups of a project. A group may have all of its experiments, so they are added up part by part. */
async function figuresOf(database: Database, projectId: string, groupIds: readonly string[]): Promise<Map<string, Figures>> {
  const few = await fewIds(database, 'SELECT run_id AS id FROM experiments WHERE group_id = ANY ($1::uuid[])', [groupIds]);
  const listing: Listing = {
    ...{ table: 'experiments', alias: 'e', joins: 'JOIN runs r ON r.id = e.run_id' },
    walk: { columns: [['run_id', 'uuid']], descending: false },
    ...(few
      ? { within: 'e.run_id = ANY ($1::uuid[])', conditions: [], values: [few] }
      : { within: 'e.project_id = $1', conditions: ['e.group_id = ANY ($2::uuid[])'], values: [projectId, groupIds] }),
  };
  const all = new Map<string, Figures>();
  for await (const found of slices(database, listing, figuresSql))
    for (const { group_id, count, latest_ms, datasets } of FiguresRows.parse(found)) {
      const before = all.get(group_id);
      const named = new Map([...(before?.datasets ?? []), ...datasets].map((one) => [`${one.id} ${one.name}`, one]));
      all.set(group_id, {
        experimentCount: count + (before?.experimentCount ?? 0),
        latestRunDate: new Date(Math.max(latest_ms, before?.latestRunDate?.getTime() ?? latest_ms)),
        datasets: [...named].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one),
      });
    }
  return all;
}

export function postgresExperimentGroups(database: Database): ExperimentGroupStore {
  return {
    async list(projectId, page) {
      const { items, hasMore } = await listedItems(
        database,
        {
          ...{ table: 'experiment_groups', alias: 'g', within: 'g.project_id = $1', conditions: [], values: [projectId] },
          walk: { columns: byCreation, descending: true },
        },
        page,
        (ids) =>
          database.query(
            `SELECT g.*, CASE WHEN u.id IS NULL THEN NULL ELSE ${userInfoSql('u')} END AS created_by
               FROM experiment_groups g LEFT JOIN users u ON u.id = g.created_by WHERE g.id = ANY ($1::uuid[])`,
            [ids],
          ),
        GroupRow,
      );
      const figures = await figuresOf(
        database,
        projectId,
        items.map(({ id }) => id),
      );
      const none: Figures = { experimentCount: 0, latestRunDate: null, datasets: [] };
      return { items: items.map((group): ExperimentGroup => ({ ...group, ...(figures.get(group.id) ?? none) })), hasMore };
    },
  };
}

const Found = z.object({ id: z.string() });

/**
 * The group to put an experiment in, held until the transaction ends so that nothing removes it meanwhile. Any number of creations may ask for
 * the same missing name at once: one makes it, the others wait for it.
 * @throws ServiceError `ExperimentGroupNotFound` for an id that the project lacks.
 */
export async function resolveGroup(
  tx: Queries,
  projectId: string,
  choice: GroupChoice,
  createdBy: string,
): Promise<{ id: string; isNew: boolean }> {
  const [column, value] = 'id' in choice ? (['id', choice.id] as const) : (['name', choice.name] as const);
  const found = await tx.maybeOne(`SELECT id FROM experiment_groups WHERE project_id = $1 AND ${column} = $2 FOR KEY SHARE`, [
    projectId,
    value,
  ]);
  if (found) return { id: Found.parse(found).id, isNew: false };
  if ('id' in choice)
    throw new ServiceError('ExperimentGroupNotFound', `no experiment group ${choice.id} in this project`, {
      context: { experiment_group_id: choice.id },
    });
  // DO UPDATE rather than DO NOTHING: it gives the row, and holds it, when another creation has made it first.
  const id = newId();
  const isSystem = choice.name === SYSTEM_GROUP;
  const row = await tx.maybeOne(
    `INSERT INTO experiment_groups (id, project_id, name, is_system, created_by) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT ON CONSTRAINT experiment_groups_name DO UPDATE SET name = excluded.name RETURNING id`,
    [id, projectId, choice.name, isSystem, isSystem ? null : createdBy],
  );
  const resolved = Found.parse(row).id;
  return { id: resolved, isNew: resolved === id };
}

/** Removes a group that holds no experiment; one that got an experiment meanwhile stays: the lock waits for who puts one in, see `resolveGroup`. */
export async function removeEmptyGroup(tx: Queries, groupId: string): Promise<void> {
  await tx.query('SELECT id FROM experiment_groups WHERE id = $1 FOR UPDATE', [groupId]);
  await tx.query(
    'DELETE FROM experiment_groups g WHERE g.id = $1 AND NOT EXISTS (SELECT 1 FROM experiments e WHERE e.group_id = g.id)',
    [groupId],
  );
}
