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
import { ServiceError } from '../../errors/errors.ts';
import { nameTaken } from '../../identifiers/freeName.ts';
import { newId } from '../../identifiers/ids.ts';
import { projectRoles } from '../../wire/accounts.ts';
import { AnnotationQueueExportRequest, type AnnotationQueueFilter, StoredConstraints } from '../../wire/annotations.ts';
import { UserInfo } from '../../wire/datasets.ts';
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
import {
  byChange,
  byCreation,
  byName,
  countListed,
  fewIds,
  type Listing,
  listedItems,
  listedValues,
  orderedBy,
  timeKey,
} from './listScan.ts';
import { missingReference } from './missingReference.ts';
import { annotatedByUser, membershipOf, overallProgress, sortSql } from './queueFigures.ts';
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
    ({ created_by_user: createdBy, num_log_records: numRecords, membership, ...row }): Queue => ({
      ...inCamelCase(row),
      createdBy,
      numRecords,
      membership: membership ?? undefined,
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
  .transform((row): AnnotationTemplate => inCamelCase(row));

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
  .transform((row): QueueUser => inCamelCase(row));

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
      return looksUp(`FROM annotation_queue_records r WHERE r.queue_id = q.id AND r.project_id = ${bind(filter.value, 'uuid')}`);
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
  seesAll ? 'true' : looksUp(`FROM annotation_queue_users m WHERE m.queue_id = q.id AND m.user_id = ${bind(userId, 'uuid')}`);

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
  /** The queues that a viewer sees and a query selects. */
  const listing = async (viewer: QueueViewer, query: QueueQuery): Promise<Listing> => {
    const { bind, values } = createBinder();
    const { within, conditions } = conditionsOf(query.filters, (filter) => condition(filter, bind));
    const own = 'SELECT queue_id AS id FROM annotation_queue_users WHERE user_id = $1::uuid';
    const few = viewer.seesAll ? undefined : await fewIds(database, own, [viewer.userId]);
    if (few) within.push(`q.id = ANY (${bind(few, 'uuid[]')})`);
    else conditions.push(seenBy(viewer, bind));
    const sort = query.sort ?? { name: 'updated_at' as const, ascending: false };
    const walks = { name: byName, created_at: byCreation, updated_at: byChange };
    return {
      ...{ table: 'annotation_queues', alias: 'q', conditions, values },
      within: within.length > 0 ? within.join(' AND ') : 'true',
      ...orderedBy(sort, walks, () => sortSql[sort.name], sort.name === 'overall_progress' ? 'last' : 'lowest'),
    };
  };
  const read = (viewer: QueueViewer, ids: readonly string[]) =>
    database.query(selectQueues, [ids, viewer.userId, viewer.seesAll]);
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
    findQueue: async (viewer, queueId) => z.array(QueueRow).parse(await read(viewer, [queueId]))[0],
    queues: async (viewer, query, page) =>
      listedItems(database, await listing(viewer, query), page, (ids) => read(viewer, ids), QueueRow),
    countQueues: async (viewer, query) => countListed(database, await listing(viewer, query)),
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
      const conditions = [`starts_with(q.name, ${bind(prefix, 'text')})`, seenBy(viewer, bind)];
      const walk = { columns: byName, descending: false };
      const listing: Listing = { table: 'annotation_queues', alias: 'q', within: 'true', walk, conditions, values };
      return listedValues(database, listing, 'q.name', z.string());
    },

    queueUsers: (queueId, page) =>
      listedItems(
        database,
        {
          ...{ table: 'annotation_queue_users', alias: 'm', within: 'm.queue_id = $1', conditions: [], values: [queueId] },
          walk: { columns: [['user_id', 'uuid']], descending: false },
          by: { sql: timeKey('m.created_at'), descending: false, nullsFirst: false },
        },
        page,
        (ids) => database.query(`${selectUsers} WHERE m.id = ANY ($1::uuid[])`, [ids]),
        UserRow,
      ),
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
