import { z } from 'zod';
import type {
  AnnotationQueueStore,
  AnnotationTemplate,
  NewQueueUser,
  NewTemplate,
  Queue,
  QueueQuery,
  QueueUser,
  QueueViewer,
} from '../../annotations/annotationStore.ts';
import { inPieces } from '../../concurrency/inPieces.ts';
import { ServiceError } from '../../errors/errors.ts';
import { nameTaken } from '../../identifiers/freeName.ts';
import { newId } from '../../identifiers/ids.ts';
import { projectRoles } from '../../wire/accounts.ts';
import { AnnotationQueueExportRequest, type AnnotationQueueFilter, StoredConstraints } from '../../wire/annotations.ts';
import { UserInfo } from '../../wire/datasets.ts';
import { type Binder, createBinder, idCondition, numberCondition, textCondition, timeCondition, where } from './conditions.ts';
import type { Database, Queries } from './connect.ts';
import { missingReference } from './missingReference.ts';
import { idOf, inOrder, pageFrom, rowsFor } from './pageOf.ts';
import { TimeRow, userInfoSql } from './userInfo.ts';

const Role = z.enum(projectRoles);
export const Total = z.object({ total: z.number() });
export const Ids = z.array(z.object({ id: z.string() }).transform(({ id }) => id));

const QueueRow = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    created_by_user: UserInfo,
    created_at: TimeRow,
    updated_at: TimeRow,
    num_log_records: z.number(),
    num_annotators: z.number(),
    num_users: z.number(),
    num_templates: z.number(),
    annotated: z.record(z.string(), z.number()),
    overall_progress: z.number().nullable(),
    membership: Role.nullable(),
  })
  .transform(
    (row): Queue => ({
      id: row.id,
      name: row.name,
      description: row.description,
      createdBy: row.created_by_user,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      numRecords: row.num_log_records,
      numAnnotators: row.num_annotators,
      numUsers: row.num_users,
      numTemplates: row.num_templates,
      annotated: row.annotated,
      overallProgress: row.overall_progress,
      membership: row.membership ?? undefined,
    }),
  );

const TemplateRow = z
  .object({
    id: z.string(),
    queue_id: z.string(),
    name: z.string(),
    include_explanation: z.boolean(),
    criteria: z.string().nullable(),
    constraints: StoredConstraints,
    position: z.number(),
    created_by: z.string(),
    created_at: TimeRow,
    usage_count: z.number(),
  })
  .transform(
    (row): AnnotationTemplate => ({
      id: row.id,
      queueId: row.queue_id,
      name: row.name,
      includeExplanation: row.include_explanation,
      criteria: row.criteria,
      constraints: row.constraints,
      position: row.position,
      createdBy: row.created_by,
      createdAt: row.created_at,
      usageCount: row.usage_count,
    }),
  );

const UserRow = z
  .object({
    id: z.string(),
    queue_id: z.string(),
    user_id: z.string(),
    email: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    role: Role,
    track_progress: z.boolean(),
    created_at: TimeRow,
  })
  .transform(
    (row): QueueUser => ({
      id: row.id,
      queueId: row.queue_id,
      userId: row.user_id,
      email: row.email,
      firstName: row.first_name,
      lastName: row.last_name,
      role: row.role,
      trackProgress: row.track_progress,
      createdAt: row.created_at,
    }),
  );

// Figures of a queue `q`: each is counted where a list shows it, or is filtered or sorted by it.
const countOf = (table: string, more = '') => `(SELECT count(*) FROM ${table} WHERE queue_id = q.id${more})`;
const recordsOf = countOf('annotation_queue_records');
const templatesOf = countOf('annotation_templates');
/**
 * A record is annotated when every template has a rating, so in a queue without templates none is: the count starts from the ratings, of which
 * people make few.
 */
const overallProgress = `(SELECT CASE WHEN records > 0 AND templates > 0 THEN (
    SELECT count(*) FROM (SELECT record_id FROM annotation_ratings WHERE queue_id = q.id GROUP BY record_id HAVING count(DISTINCT template_id) = templates) done
  )::float8 / records END FROM (SELECT ${recordsOf} AS records, ${templatesOf} AS templates) total)`;
const annotatedByUser = `coalesce((SELECT jsonb_object_agg(tracked.user_id, (
    SELECT count(*) FROM (SELECT record_id FROM annotation_ratings a WHERE a.queue_id = q.id AND a.user_id = tracked.user_id GROUP BY record_id HAVING count(*) = ${templatesOf}) done
  )) FROM annotation_queue_users tracked WHERE tracked.queue_id = q.id AND tracked.track_progress), '{}')`;
const membershipOf = (userId: string) =>
  `(SELECT m.role FROM annotation_queue_users m WHERE m.queue_id = q.id AND m.user_id = ${userId})`;

const sortSql = {
  name: 'q.name',
  created_at: 'q.created_at',
  updated_at: 'q.updated_at',
  created_by: '(SELECT lower(u.email) FROM users u WHERE u.id = q.created_by)',
  num_users: countOf('annotation_queue_users'),
  num_log_records: recordsOf,
  num_templates: templatesOf,
  num_annotators: countOf('annotation_queue_users', " AND role = 'annotator'"),
  overall_progress: overallProgress,
} as const;

/** `$1` are the queues, `$2` is whose view it is, `$3` whether they see all. */
const selectQueues = `SELECT q.id, q.name, q.description, q.created_at, q.updated_at, ${userInfoSql('creator')} AS created_by_user,
    ${sortSql.num_log_records}::int AS num_log_records, ${sortSql.num_annotators}::int AS num_annotators, ${sortSql.num_users}::int AS num_users,
    ${sortSql.num_templates}::int AS num_templates, ${overallProgress} AS overall_progress, ${annotatedByUser} AS annotated,
    ${membershipOf('$2::uuid')} AS membership
  FROM annotation_queues q JOIN users creator ON creator.id = q.created_by
  WHERE q.id = ANY ($1::uuid[]) AND ($3::boolean OR ${membershipOf('$2::uuid')} IS NOT NULL)`;

function condition(filter: AnnotationQueueFilter, bind: Binder['bind']): string {
  switch (filter.name) {
    case 'id':
      return idCondition('q.id', filter, bind);
    case 'name':
      return textCondition('q.name', { ...filter, caseSensitive: filter.case_sensitive }, bind);
    case 'project_id':
      return `EXISTS (SELECT FROM annotation_queue_records r WHERE r.queue_id = q.id AND r.project_id = ${bind(filter.value, 'uuid')})`;
    case 'created_at':
    case 'updated_at':
      return timeCondition(`q.${filter.name}`, filter, bind);
    case 'num_log_records':
    case 'num_annotators':
    case 'num_users':
    case 'num_templates':
    case 'overall_progress':
      return numberCondition(sortSql[filter.name], filter, bind);
    default:
      return filter satisfies never;
  }
}

const selectTemplates = `SELECT t.*, (SELECT count(*)::int FROM annotation_ratings a WHERE a.template_id = t.id) AS usage_count FROM annotation_templates t`;
const selectUsers = `SELECT m.id, m.queue_id, m.user_id, m.role, m.track_progress, m.created_at, u.email, u.first_name, u.last_name
  FROM annotation_queue_users m JOIN users u ON u.id = m.user_id`;

const seenBy = ({ userId, seesAll }: QueueViewer, bind: Binder['bind']): string =>
  seesAll ? 'true' : `q.id IN (SELECT m.queue_id FROM annotation_queue_users m WHERE m.user_id = ${bind(userId, 'uuid')})`;

/**
 * Holds a name until the transaction ends, unless another queue that `viewer` sees has it: one that they may not see has no part in it.
 * @throws ServiceError `Conflict`
 */
async function takeName(tx: Queries, viewer: QueueViewer, name: string, queueId: string): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`annotation queue name/${name}`]);
  const { bind, values } = createBinder();
  const other = `q.name = ${bind(name, 'text')} AND q.id <> ${bind(queueId, 'uuid')}`;
  const taken = await tx.query(`SELECT q.id FROM annotation_queues q WHERE ${other} AND ${seenBy(viewer, bind)} LIMIT 1`, values);
  if (taken.length > 0) throw nameTaken('annotation queue', name);
}

/** Annotation queues with their users, templates and links to exports. */
export function annotationQueues(database: Database): AnnotationQueueStore {
  const visible = (viewer: QueueViewer, query: QueueQuery, bind: Binder['bind']): string => {
    const conditions = query.filters.map((filter) => condition(filter, bind));
    conditions.push(seenBy(viewer, bind));
    return `FROM annotation_queues q ${where(conditions)}`;
  };
  const byIds = async (viewer: QueueViewer, ids: readonly string[]) =>
    inOrder(ids, await database.query(selectQueues, [ids, viewer.userId, viewer.seesAll]), QueueRow);
  const countQueues = async (viewer: QueueViewer, query: QueueQuery) => {
    const { bind, values } = createBinder();
    const row = await database.maybeOne(`SELECT count(*)::int AS total ${visible(viewer, query, bind)}`, values);
    return Total.parse(row).total;
  };
  const templates = async (queries: Queries, condition: string, params: unknown[]) =>
    z
      .array(TemplateRow)
      .parse(await queries.query(`${selectTemplates} WHERE ${condition} ORDER BY t.queue_id, t.position`, params));
  const oneUser = async (queries: Queries, queueId: string, userId: string) => {
    const row = await queries.maybeOne(`${selectUsers} WHERE m.queue_id = $1 AND m.user_id = $2`, [queueId, userId]);
    return row && UserRow.parse(row);
  };

  return {
    insertQueue: ({ id, name, description }, creator, more) =>
      database.transaction(async (tx) => {
        const createdBy = creator.userId;
        await takeName(tx, creator, name, id);
        await tx.query('INSERT INTO annotation_queues (id, name, description, created_by) VALUES ($1, $2, $3, $4)', [
          id,
          name,
          description,
          createdBy,
        ]);
        for (const user of more.users) await setUser(tx, id, user);
        await setUser(tx, id, { userId: createdBy, email: undefined, role: 'owner', trackProgress: true });
        await insertTemplates(tx, id, more.templates, createdBy);
      }),
    findQueue: async (viewer, queueId) => (await byIds(viewer, [queueId]))[0],
    async queues(viewer, query, page) {
      const { bind, values } = createBinder();
      const by = query.sort ? sortSql[query.sort.name] : 'q.updated_at';
      const direction = query.sort?.ascending ? 'ASC' : 'DESC';
      // The other columns are never null, and are ordered as their indexes are.
      const nulls = query.sort?.name === 'overall_progress' ? 'NULLS LAST' : '';
      const rows = await database.query(
        `SELECT q.id ${visible(viewer, query, bind)}
         ORDER BY ${by} ${direction} ${nulls}, q.created_at DESC, q.id LIMIT ${bind(rowsFor(page.limit), 'int8')} OFFSET ${bind(page.offset, 'int8')}`,
        values,
      );
      const { items: ids, hasMore } = pageFrom(rows.map(idOf), page.limit);
      return { items: await inPieces(ids, (piece) => byIds(viewer, piece)), hasMore };
    },
    countQueues,
    updateQueue: (queueId, { name, description }, viewer) =>
      database.transaction(async (tx) => {
        const current = await tx.maybeOne('SELECT name FROM annotation_queues WHERE id = $1', [queueId]);
        if (name !== undefined && name !== current?.name) await takeName(tx, viewer, name, queueId);
        await tx.query(
          `UPDATE annotation_queues SET name = coalesce($2, name), description = coalesce($3, description), updated_at = now() WHERE id = $1`,
          [queueId, name ?? null, description ?? null],
        );
      }),
    async removeQueue(queueId) {
      await database.query('DELETE FROM annotation_queues WHERE id = $1', [queueId]);
    },
    async queueNamesFrom(viewer, prefix) {
      const { bind, values } = createBinder();
      const named = `starts_with(q.name, ${bind(prefix, 'text')})`;
      const rows = await database.query(
        `SELECT q.name FROM annotation_queues q WHERE ${named} AND ${seenBy(viewer, bind)}`,
        values,
      );
      return rows.map((row) => z.object({ name: z.string() }).parse(row).name);
    },

    async queueUsers(queueId, page) {
      const rows = await database.query(`${selectUsers} WHERE m.queue_id = $1 ORDER BY m.created_at, m.id LIMIT $2 OFFSET $3`, [
        queueId,
        rowsFor(page.limit),
        page.offset,
      ]);
      return pageFrom(z.array(UserRow).parse(rows), page.limit);
    },
    setQueueUsers: (queueId, users) =>
      database
        .transaction(async (tx) => {
          const set: QueueUser[] = [];
          for (const user of users) set.push((await oneUser(tx, queueId, await setUser(tx, queueId, user))) as QueueUser);
          return set;
        })
        .catch(missingReference('annotation queue')),
    async updateQueueUser(queueId, userId, { role, trackProgress }) {
      await database.query(
        'UPDATE annotation_queue_users SET role = $3, track_progress = coalesce($4, track_progress) WHERE queue_id = $1 AND user_id = $2',
        [queueId, userId, role, trackProgress ?? null],
      );
      return oneUser(database, queueId, userId);
    },
    async removeQueueUser(queueId, userId) {
      const sql = 'DELETE FROM annotation_queue_users WHERE queue_id = $1 AND user_id = $2 RETURNING id';
      return (await database.maybeOne(sql, [queueId, userId])) !== undefined;
    },

    templates: (queueIds) => templates(database, 't.queue_id = ANY($1::uuid[])', [[...queueIds]]),
    addTemplates: (queueId, added, createdBy) =>
      database.transaction(async (tx) => {
        await lockQueue(tx, queueId);
        await insertTemplates(tx, queueId, added, createdBy);
        return templates(tx, 't.id = ANY($1::uuid[])', [added.map(({ id }) => id)]);
      }),
    async updateTemplate(queueId, templateId, { name, criteria }) {
      const sql = 'UPDATE annotation_templates SET name = $3, criteria = $4 WHERE queue_id = $1 AND id = $2';
      await database.query(sql, [queueId, templateId, name, criteria]);
      return (await templates(database, 't.queue_id = $1 AND t.id = $2', [queueId, templateId]))[0];
    },
    removeTemplate: (queueId, templateId) =>
      database.transaction(async (tx) => {
        await lockQueue(tx, queueId);
        const sql = 'DELETE FROM annotation_templates WHERE queue_id = $1 AND id = $2 RETURNING position';
        const removed = await tx.maybeOne(sql, [queueId, templateId]);
        if (!removed) return false;
        await tx.query('UPDATE annotation_templates SET position = position - 1 WHERE queue_id = $1 AND position > $2', [
          queueId,
          removed.position,
        ]);
        return true;
      }),
    orderTemplates: (queueId, ordering) =>
      database.transaction(async (tx) => {
        await lockQueue(tx, queueId);
        const ids = Ids.parse(await tx.query('SELECT id FROM annotation_templates WHERE queue_id = $1', [queueId]));
        const named = new Set(ordering);
        if (ordering.length !== ids.length || !ids.every((id) => named.has(id))) return false;
        await tx.query(
          `UPDATE annotation_templates t SET position = given.place - 1
           FROM unnest($2::uuid[]) WITH ORDINALITY AS given (id, place) WHERE t.queue_id = $1 AND t.id = given.id`,
          [queueId, [...ordering]],
        );
        return true;
      }),

    async insertExport({ id, queueId, userId, request, expiresAt }) {
      await database.query('DELETE FROM annotation_exports WHERE expires_at < now()');
      await database
        .query('INSERT INTO annotation_exports (id, queue_id, user_id, request, expires_at) VALUES ($1, $2, $3, $4, $5)', [
          id,
          queueId,
          userId,
          JSON.stringify(request),
          expiresAt,
        ])
        .catch(missingReference('annotation queue'));
    },
    async findExport(queueId, exportId) {
      const sql = 'SELECT user_id, request FROM annotation_exports WHERE queue_id = $1 AND id = $2 AND expires_at > now()';
      const row = await database.maybeOne(sql, [queueId, exportId]);
      if (!row) return undefined;
      return { userId: z.string().parse(row.user_id), request: AnnotationQueueExportRequest.parse(row.request) };
    },
  };
}

/** Locks a queue for a change of what it holds, and notes that it was changed. @throws ServiceError `NotFound` when it was deleted meanwhile. */
export async function lockQueue(tx: Queries, queueId: string): Promise<void> {
  const row = await tx.maybeOne('UPDATE annotation_queues SET updated_at = now() WHERE id = $1 RETURNING id', [queueId]);
  if (!row) throw new ServiceError('NotFound', `there is no annotation queue ${queueId}`);
}

/** @returns the user's id */
async function setUser(tx: Queries, queueId: string, { userId, email, role, trackProgress }: NewQueueUser): Promise<string> {
  const user = await tx.maybeOne(
    'SELECT id FROM users WHERE removed_at IS NULL AND CASE WHEN $1::uuid IS NULL THEN lower(email) = lower($2) ELSE id = $1 END',
    [userId ?? null, email ?? null],
  );
  if (!user) throw new ServiceError('NotFound', `no user ${userId ?? email}`);
  await tx.query(
    `INSERT INTO annotation_queue_users (id, queue_id, user_id, role, track_progress) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (queue_id, user_id) DO UPDATE SET role = excluded.role, track_progress = excluded.track_progress`,
    [newId(), queueId, user.id, role, trackProgress],
  );
  return z.string().parse(user.id);
}

async function insertTemplates(tx: Queries, queueId: string, added: readonly NewTemplate[], createdBy: string): Promise<void> {
  for (const { id, name, includeExplanation, criteria, constraints } of added)
    await tx.query(
      `INSERT INTO annotation_templates (id, queue_id, name, include_explanation, criteria, constraints, position, created_by)
       SELECT $1::uuid, $2::uuid, $3::text, $4::boolean, $5::text, $6::jsonb, count(*), $7::uuid FROM annotation_templates WHERE queue_id = $2`,
      [id, queueId, name, includeExplanation, criteria, JSON.stringify(constraints), createdBy],
    );
}
