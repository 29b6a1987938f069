import { z } from 'zod';
import { inPieces, PIECE } from '../../concurrency/inPieces.ts';
import { ServiceError } from '../../errors/errors.ts';
import { newId } from '../../identifiers/ids.ts';
import type { DeletionStore, PendingDeletion, Project, ProjectQuery, ProjectStore, Viewer } from '../../projects/projectStore.ts';
import { type Run, runKinds } from '../../projects/runs.ts';
import { projectTypes } from '../../wire/projects.ts';
import { Membership, membershipOf } from './about.ts';
import { collaboratorStore } from './collaborators.ts';
import { type Binder, createBinder, idCondition, numberCondition, textCondition, timeCondition, where } from './conditions.ts';
import type { Database, Queries, Row } from './connect.ts';
import { idOf, pageFrom, rowsFor } from './pageOf.ts';

const ProjectRow = z
  .object({
    id: z.string(),
    name: z.string(),
    type: z.enum(projectTypes),
    description: z.string().nullable(),
    labels: z.array(z.string()),
    created_by: z.string(),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .transform(
    ({ created_by, created_at, updated_at, ...row }): Project => ({
      ...row,
      createdBy: created_by,
      createdAt: created_at,
      updatedAt: updated_at,
    }),
  );
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
  .transform(
    (row): Run => ({
      id: row.id,
      projectId: row.project_id,
      kind: row.kind,
      name: row.name,
      createdBy: row.created_by,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    }),
  );

const Total = z.object({ total: z.number() });

const columns = 'p.id, p.name, p.type, p.description, p.labels, p.created_by, p.created_at, p.updated_at';
const runCount = '(SELECT count(*) FROM runs r WHERE r.project_id = p.id)';

/** Project `p` is one of user `userId`'s, by name or through a group. It is read from the user's side: they may be a member of few projects among many. */
const isMember = (userId: string) => `p.id IN (
  SELECT c.project_id FROM project_users c WHERE c.user_id = ${userId}
  UNION ALL
  SELECT c.project_id FROM project_groups c JOIN user_group_members g ON g.group_id = c.group_id AND g.user_id = ${userId} AND g.role <> 'pending'
)`;

const sortSql = {
  name: 'p.name',
  type: 'p.type',
  created_at: 'p.created_at',
  updated_at: 'p.updated_at',
  runs: runCount,
  // No route sets a bookmark, so all projects are equal in it.
  bookmark: '(p.id IS NULL)',
} as const;

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

/** `FROM … WHERE …` for the projects a viewer sees and a query selects. */
function visible(viewer: Viewer, query: ProjectQuery, bind: Binder['bind']): { from: string; membership: () => string } {
  // Bound where it is first used: Postgres refuses a value that no placeholder stands for.
  let user: string | undefined;
  const userOf = () => {
    user ??= bind(viewer.userId, 'uuid');
    return user;
  };
  const membership = () => membershipOf(userOf());
  const conditions = query.filters.map((filter) => condition(filter, bind));
  if (!viewer.seesAll) conditions.push(isMember(userOf()));
  if (viewer.onlyProjectId !== undefined) conditions.push(`p.id = ${bind(viewer.onlyProjectId, 'uuid')}`);
  return { from: `FROM projects p ${where(conditions)}`, membership };
}

const PendingRow = z
  .object({ id: z.string(), project_id: z.string(), run_id: z.string().nullable(), requested_at: z.date() })
  .transform(
    (row): PendingDeletion => ({
      id: row.id,
      projectId: row.project_id,
      runId: row.run_id ?? undefined,
      requestedAt: row.requested_at,
    }),
  );

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
  const filters = [{ name: 'name', operator: 'eq', value: name, case_sensitive: true }] as const;
  const { from } = visible(viewer, { filters }, bind);
  if ((await tx.query(`SELECT p.id ${from} LIMIT 1`, values)).length > 0)
    throw new ServiceError('Conflict', 'a project with this name exists already');
}

/** Projects, their collaborators and the notes of unfinished deletions in Postgres. */
export function postgresProjects(database: Database): ProjectStore & DeletionStore {
  const count = async (viewer: Viewer, query: ProjectQuery) => {
    const { bind, values } = createBinder();
    return Total.parse(await database.maybeOne(`SELECT count(*) AS total ${visible(viewer, query, bind).from}`, values)).total;
  };
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
    async find(viewer, query, page) {
      const { bind, values } = createBinder();
      const { from, membership } = visible(viewer, query, bind);
      // Of several projects of one name, the one that the caller has seen longest is the first: nobody takes another's place by giving one away.
      const isNamed = !query.sort && query.filters.some((filter) => filter.name === 'name' && filter.operator === 'eq');
      const since = () => (viewer.seesAll ? 'p.created_at' : seenSince(bind(viewer.userId, 'uuid')));
      const by = isNamed ? since() : query.sort ? sortSql[query.sort.name] : 'p.created_at';
      const direction = isNamed || query.sort?.ascending ? 'ASC' : 'DESC';
      const limits = page ? `LIMIT ${bind(rowsFor(page.limit), 'int8')} OFFSET ${bind(page.offset, 'int8')}` : '';
      const order = `ORDER BY ${by} ${direction}, p.id ${direction} ${limits}`;
      const toItem = (row: Row) => ({ ...ProjectRow.parse(row), membership: Membership.parse(row.membership) });
      if (page && page.limit <= PIECE) {
        const rows = await database.query(`SELECT ${columns}, ${membership()} AS membership ${from} ${order}`, values);
        return pageFrom(rows.map(toItem), page.limit);
      }
      const found = (await database.query(`SELECT p.id ${from} ${order}`, values)).map(idOf);
      const { items: ids, hasMore } = pageFrom(found, page?.limit ?? found.length);
      const items = await inPieces(ids, async (piece) => {
        const sql = `SELECT ${columns}, ${membershipOf('$2::uuid')} AS membership FROM projects p WHERE p.id = ANY ($1::uuid[])`;
        const byId = new Map((await database.query(sql, [piece, viewer.userId])).map((row) => [row.id, toItem(row)]));
        return piece.flatMap((id) => byId.get(id) ?? []);
      });
      return { items, hasMore };
    },
    count,
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
  };
}
