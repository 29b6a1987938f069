import { z } from 'zod';
import { ServiceError } from '../../errors/errors.ts';
import type { ExperimentGroup, ExperimentGroupStore, GroupChoice } from '../../experiments/experimentStore.ts';
import { SYSTEM_GROUP } from '../../experiments/groups.ts';
import { newId } from '../../identifiers/ids.ts';
import { UserInfo } from '../../wire/datasets.ts';
import type { Database, Queries } from './connect.ts';
import { pageFrom, rowsFor } from './pageOf.ts';
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
    experiment_count: z.number(),
    latest_run_date: z.date().nullable(),
    datasets: z.array(z.object({ id: z.string(), name: z.string() })),
    created_by: UserInfo.nullable(),
  })
  .transform(
    (row): ExperimentGroup => ({
      id: row.id,
      projectId: row.project_id,
      name: row.name,
      description: row.description,
      isSystem: row.is_system,
      createdBy: row.created_by,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      experimentCount: row.experiment_count,
      latestRunDate: row.latest_run_date,
      datasets: row.datasets,
    }),
  );

export function postgresExperimentGroups(database: Database): ExperimentGroupStore {
  return {
    async list(projectId, page) {
      const rows = await database.query(
        `SELECT g.id, g.project_id, g.name, g.description, g.is_system, g.created_at, g.updated_at,
                CASE WHEN u.id IS NULL THEN NULL ELSE ${userInfoSql('u')} END AS created_by, of_group.*
           FROM experiment_groups g LEFT JOIN users u ON u.id = g.created_by
          CROSS JOIN LATERAL (
            SELECT count(*) AS experiment_count, max(greatest(r.created_at, e.started_at)) AS latest_run_date,
                   coalesce(jsonb_agg(DISTINCT jsonb_build_object('id', e.dataset_id, 'name', e.dataset_name))
                              FILTER (WHERE e.dataset_id IS NOT NULL AND e.dataset_name IS NOT NULL), '[]') AS datasets
              FROM experiments e JOIN runs r ON r.id = e.run_id WHERE e.group_id = g.id
          ) of_group
          WHERE g.project_id = $1 ORDER BY g.created_at DESC, g.id DESC LIMIT $2 OFFSET $3`,
        [projectId, rowsFor(page.limit), page.offset],
      );
      return pageFrom(z.array(GroupRow).parse(rows), page.limit);
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
