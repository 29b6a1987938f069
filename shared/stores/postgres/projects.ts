import { z } from 'zod';
import { ServiceError } from '../../errors/errors.ts';
import { newId } from '../../identifiers/ids.ts';
import type {
  DeletedWhole,
  DeletionStore,
  PendingDeletion,
  Project,
  ProjectQuery,
  ProjectStore,
  Viewer,
} from '../../projects/projectStore.ts';
import { type Run, runKinds } from '../../projects/runs.ts';
import { projectTypes } from '../../wire/projects.ts';
import { Membership, membershipOf } from './about.ts';
import { collaboratorStore } from './collaborators.ts';
import {
  type Binder,
  conditionsOf,
  createBinder,
  idCondition,
  looksUp,
  numberCondition,
  textCondition,
  timeCondition,
} from './conditions.ts';
import type { Database, Queries } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { byCreation, byName, countListed, fewIds, type Listing, listedItems, orderedBy, timeKey } from './listScan.ts';

const ProjectColumns = z.object({
  id: z.string(),
  name: z.string(),
  type: z.enum(projectTypes),
  description: z.string().nullable(),
  labels: z.array(z.string()),
  created_by: z.string(),
  created_at: z.date(),
  updated_at: z.date(),
});
const ProjectRow = ProjectColumns.transform((row): Project => inCamelCase(row));
const ListedRow = ProjectColumns.extend({ membership: Membership }).transform(inCamelCase);
const RunRow = z
  .object({
    id: z.string(),
    project_id: z.string(),
    kind: z.enum(runKinds),
    name: z.string(),
    created_by: z.string(),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .transform((row): Run => inCamelCase(row));

const columns = 'p.id, p.name, p.type, p.description, p.labels, p.created_by, p.created_at, p.updated_at';
/** Ordered, so that the index is read also where one project has most of the runs, and Postgres would read all of them for each. */
const runCount = '(SELECT count(*) FROM (SELECT FROM runs r WHERE r.project_id = p.id ORDER BY r.created_at, r.id) counted)';

/** Projects of user `userId`, by name or through a group. @param more a condition on their ids `c.project_id` */
const projectsOf = (
  userId: string,
  more = 'true',
) => `SELECT c.project_id AS id FROM project_users c WHERE c.user_id = ${userId} AND ${more}
  UNION ALL
  SELECT c.project_id FROM project_groups c JOIN user_group_members g ON g.group_id = c.group_id AND g.user_id = ${userId} AND g.role <> 'pending' WHERE ${more}`;
const isMember = (userId: string) => looksUp(`FROM (${projectsOf(userId, 'c.project_id = p.id')}) c`);

function condition(filter: ProjectQuery['filters'][number], bind: Binder['bind']): string {
  switch (filter.name) {
    case 'id':
      return idCondition('p.id', filter, bind);
    case 'creator':
      return idCondition('p.created_by', filter, bind);
    case 'name':
      return textCondition('p.name', { ...filter, caseSensitive: filter.case_sensitive }, bind);
    case 'type':
      return textCondition('p.type', { ...filter, caseSensitive: true }, bind);
    case 'created_at':
      return timeCondition('p.created_at', filter, bind);
    case 'updated_at':
      return timeCondition('p.updated_at', filter, bind);
    case 'runs':
      return numberCondition(runCount, filter, bind);
    case 'bookmark':
      return `NOT ${bind(filter.value, 'boolean')}`;
    default:
      return filter satisfies never;
  }
}

/** Puts first, of several projects of one name, the one that the viewer has seen longest: a project that is given away takes no other's place. */
function order(viewer: Viewer, { filters, sort }: ProjectQuery, bind: Binder['bind']): Pick<Listing, 'walk' | 'by'> {
  const walks = { name: byName, created_at: byCreation };
  if (!sort && filters.some((filter) => filter.name === 'name' && filter.operator === 'eq'))
    return viewer.seesAll
      ? { walk: { columns: byCreation, descending: false } }
      : orderedBy({ name: 'seen', ascending: true }, walks, () => timeKey(seenSince(bind(viewer.userId, 'uuid'))));
  // No route sets a bookmark, so all projects are equal in it.
  if (!sort || sort.name === 'bookmark') return { walk: { columns: byCreation, descending: !sort?.ascending } };
  const keys: Readonly<Record<string, string>> = { type: 'p.type COLLATE "C"', runs: runCount };
  return orderedBy(sort, walks, () => keys[sort.name] ?? timeKey('p.updated_at'));
}

/** The projects that a viewer sees and a query selects. */
async function listing(database: Database, viewer: Viewer, query: ProjectQuery): Promise<Listing> {
  const { bind, values } = createBinder();
  const { within, conditions } = conditionsOf(query.filters, (filter) => condition(filter, bind));
  if (viewer.onlyProjectId !== undefined) within.push(`p.id = ${bind(viewer.onlyProjectId, 'uuid')}`);
  if (!viewer.seesAll) {
    const few = await fewIds(database, projectsOf('$1::uuid'), [viewer.userId]);
    if (few) within.push(`p.id = ANY (${bind(few, 'uuid[]')})`);
    else conditions.push(isMember(bind(viewer.userId, 'uuid')));
  }
  return {
    ...{ table: 'projects', alias: 'p', conditions, values },
    within: within.length > 0 ? within.join(' AND ') : 'true',
    ...order(viewer, query, bind),
  };
}

const PendingRow = z
  .object({ id: z.string(), project_id: z.string(), run_id: z.string().nullable(), requested_at: z.date() })
  .transform(({ run_id, ...row }): PendingDeletion => ({ ...inCamelCase(row), runId: run_id ?? undefined }));

/** Since when user `userId` sees project `p`, where they do not see all: since they were made a member, by name or through a group. */
const seenSince = (userId: string) => `least(
  (SELECT c.created_at FROM project_users c WHERE c.project_id = p.id AND c.user_id = ${userId}),
  (SELECT min(c.created_at) FROM project_groups c JOIN user_group_members g ON g.group_id = c.group_id AND g.user_id = ${userId} AND g.role <> 'pending'
   WHERE c.project_id = p.id))`;

/**
 * Holds a name until the transaction ends, unless a project that `viewer` sees has it: one that they may not see has no part in it.
 * @throws ServiceError `Conflict`
 */
async function takeName(tx: Queries, viewer: Viewer, name: string): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`project name/${name}`]);
  const { bind, values } = createBinder();
  const seen = viewer.seesAll ? 'true' : isMember(bind(viewer.userId, 'uuid'));
  const only = viewer.onlyProjectId === undefined ? 'true' : `p.id = ${bind(viewer.onlyProjectId, 'uuid')}`;
  const named = `SELECT p.id FROM projects p WHERE p.name = ${bind(name, 'text')} AND ${seen} AND ${only} LIMIT 1`;
  if ((await tx.query(named, values)).length > 0) throw new ServiceError('Conflict', 'a project with this name exists already');
}

const DeletedRow = z
  .object({ project_id: z.string(), run_id: z.string().nullable() })
  .transform((row): DeletedWhole => ({ projectId: row.project_id, runId: row.run_id ?? undefined }));

/** Projects, their collaborators and the notes of unfinished deletions in Postgres. */
export function postgresProjects(database: Database): ProjectStore & DeletionStore {
  return {
    async membership(projectId, userId) {
      const row = await database.maybeOne(
        `SELECT p.id, p.name, ${membershipOf('$2::uuid')} AS membership FROM projects p WHERE p.id = $1`,
        [projectId, userId],
      );
      return row && z.object({ id: z.string(), name: z.string(), membership: Membership }).parse(row);
    },
    insert: ({ id, name, type }, viewer) =>
      database.transaction(async (tx) => {
        await takeName(tx, viewer, name);
        const createdBy = viewer.userId;
        const row = await tx.maybeOne(
          `INSERT INTO projects AS p (id, name, type, created_by) VALUES ($1, $2, $3, $4) RETURNING ${columns}`,
          [id, name, type, createdBy],
        );
        await tx.query(`INSERT INTO project_users (id, project_id, user_id, role) VALUES ($1, $2, $3, 'owner')`, [
          newId(),
          id,
          createdBy,
        ]);
        return ProjectRow.parse(row);
      }),
    find: async (viewer, query, page) =>
      listedItems(
        database,
        await listing(database, viewer, query),
        page,
        (ids) =>
          database.query(
            `SELECT ${columns}, ${membershipOf('$2::uuid')} AS membership FROM projects p WHERE p.id = ANY ($1::uuid[])`,
            [ids, viewer.userId],
          ),
        ListedRow,
      ),
    count: async (viewer, query) => countListed(database, await listing(database, viewer, query)),
    update: (projectId, { name, labels, description }, viewer) =>
      database.transaction(async (tx) => {
        const current = await tx.maybeOne('SELECT name FROM projects WHERE id = $1', [projectId]);
        if (name !== undefined && name !== current?.name) await takeName(tx, viewer, name);
        const row = await tx.maybeOne(
          `UPDATE projects AS p SET name = coalesce($2, name), labels = coalesce($3, labels), description = coalesce($4, description),
             updated_at = now()
           WHERE id = $1 RETURNING ${columns}`,
          [projectId, name ?? null, labels ?? null, description ?? null],
        );
        return row && ProjectRow.parse(row);
      }),
    async newestRuns(projectIds, limit) {
      const rows = await database.query(
        `SELECT r.* FROM unnest($1::uuid[]) AS p(id)
         CROSS JOIN LATERAL (SELECT * FROM runs WHERE project_id = p.id ORDER BY created_at DESC, id DESC LIMIT $2) r
         ORDER BY r.created_at DESC, r.id DESC`,
        [projectIds, limit],
      );
      return z.array(RunRow).parse(rows);
    },

    ...collaboratorStore(database, 'project'),

    removeMetadata: (deletionId, projectId, runId) =>
      database.transaction(async (tx): Promise<PendingDeletion | undefined> => {
        const removed =
          runId === undefined
            ? await tx.maybeOne('DELETE FROM projects WHERE id = $1 RETURNING id', [projectId])
            : await tx.maybeOne('DELETE FROM runs WHERE project_id = $1 AND id = $2 RETURNING id', [projectId, runId]);
        if (!removed) return undefined;
        await tx.query('INSERT INTO deletion_markers (project_id, run_id) VALUES ($1, $2)', [projectId, runId ?? null]);
        const note = await tx.maybeOne('INSERT INTO pending_deletions (id, project_id, run_id) VALUES ($1, $2, $3) RETURNING *', [
          deletionId,
          projectId,
          runId ?? null,
        ]);
        return PendingRow.parse(note);
      }),
    async pendingDeletions() {
      return z.array(PendingRow).parse(await database.query('SELECT * FROM pending_deletions ORDER BY requested_at'));
    },
    async recordsDeleted(deletionId) {
      await database.query('DELETE FROM pending_deletions WHERE id = $1', [deletionId]);
    },
    async deletedOfLate(seconds) {
      const rows = await database.query(
        "SELECT DISTINCT project_id, run_id FROM deletion_markers WHERE deleted_at > now() - $1 * interval '1 second'",
        [seconds],
      );
      return z.array(DeletedRow).parse(rows);
    },
  };
}
