import { z } from 'zod';
import type { AnnotationStore, StoredRating } from '../../annotations/annotationStore.ts';
import type { QueuedRecord, RootedRecord } from '../../annotations/ratingAggregates.ts';
import type { StoredAnnotations } from '../../annotations/summarize.ts';
import { ServiceError } from '../../errors/errors.ts';
import type { NamedTemplate } from '../../records/annotationReads.ts';
import { MAX_QUEUE_RECORDS, StoredConstraints } from '../../wire/annotations.ts';
import { annotationQueues, Ids, lockQueue, Total } from './annotationQueues.ts';
import { createBinder, where } from './conditions.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { missingReference } from './missingReference.ts';
import { TimeRow } from './userInfo.ts';

const Value = z.union([z.boolean(), z.number(), z.string(), z.array(z.string())]);
const RatingRow = z
  .object({ value: Value, explanation: z.string().nullable(), created_at: TimeRow, user_id: z.string() })
  .transform(({ user_id: createdBy, ...row }): StoredRating => ({ ...inCamelCase(row), createdBy }));
const QueuedRow = z.object({ record_id: z.string(), project_id: z.string(), run_id: z.string() }).transform(inCamelCase);
const QueuedInRow = z
  .object({ record_id: z.string(), queue_id: z.string(), run_id: z.string() })
  .transform((row): QueuedRecord => inCamelCase(row));
const NamedTemplateRow: z.ZodType<NamedTemplate> = z.object({
  id: z.string(),
  queueId: z.string(),
  name: z.string(),
  constraints: StoredConstraints,
});
const TemplateOfRatings = z.object({ id: z.string(), queueId: z.string(), constraints: StoredConstraints });
const RatingCountRow = z.object({
  runId: z.string(),
  templateId: z.string(),
  rootType: z.enum(['session', 'trace', 'span']),
  value: Value,
  count: z.int(),
  records: z.int(),
});
const AnnotationsRow = z.object({
  members: z.array(z.object({ queueId: z.string(), recordId: z.string() })),
  templates: z.array(TemplateOfRatings),
  annotators: z.array(z.object({ queueId: z.string(), userId: z.string() })),
  ratings: z.array(
    z.object({
      templateId: z.string(),
      recordId: z.string(),
      userId: z.string(),
      value: Value,
      explanation: z.string().nullable(),
    }),
  ),
});

/** Everything that is stored about the members that `members` selects, in one read. */
const annotationsSql = (
  members: string,
): string => `WITH m AS MATERIALIZED (SELECT queue_id, record_id FROM annotation_queue_records WHERE ${members})
  SELECT
    coalesce((SELECT jsonb_agg(jsonb_build_object('queueId', queue_id, 'recordId', record_id)) FROM m), '[]') AS members,
    coalesce((SELECT jsonb_agg(jsonb_build_object('id', t.id, 'queueId', t.queue_id, 'constraints', t.constraints) ORDER BY t.queue_id, t.position)
      FROM annotation_templates t WHERE t.queue_id IN (SELECT queue_id FROM m)), '[]') AS templates,
    coalesce((SELECT jsonb_agg(jsonb_build_object('queueId', u.queue_id, 'userId', u.user_id))
      FROM annotation_queue_users u WHERE u.role = 'annotator' AND u.queue_id IN (SELECT queue_id FROM m)), '[]') AS annotators,
    coalesce((SELECT jsonb_agg(jsonb_build_object('templateId', a.template_id, 'recordId', a.record_id, 'userId', a.user_id, 'value', a.value, 'explanation', a.explanation) ORDER BY a.created_at, a.user_id)
      FROM annotation_ratings a JOIN m USING (queue_id, record_id)), '[]') AS ratings`;

/** Annotation queues, and the records in them with their ratings. */
export function postgresAnnotations(database: Database): AnnotationStore {
  const annotations = async (members: string, params: unknown[]): Promise<StoredAnnotations> =>
    AnnotationsRow.parse(await database.maybeOne(annotationsSql(members), params));

  return {
    ...annotationQueues(database),

    async queuedRecords(queueId, recordIds) {
      const among = recordIds ? ' AND record_id = ANY($2::uuid[])' : '';
      const rows = await database.query(
        `SELECT record_id, project_id, run_id FROM annotation_queue_records WHERE queue_id = $1${among}`,
        recordIds ? [queueId, [...recordIds]] : [queueId],
      );
      return rows.map((row) => QueuedRow.parse(row));
    },
    addRecords: (queueId, run, recordIds, addedBy) =>
      database
        .transaction(async (tx) => {
          await lockQueue(tx, queueId);
          const rows = await tx.query(
            `INSERT INTO annotation_queue_records (queue_id, record_id, project_id, run_id, added_by)
             SELECT $1::uuid, id, $3::uuid, $4::uuid, $5::uuid FROM unnest($2::uuid[]) AS id ON CONFLICT DO NOTHING RETURNING record_id AS id`,
            [queueId, [...recordIds], run.projectId, run.runId, addedBy],
          );
          const counted = await tx.maybeOne('SELECT count(*)::int AS total FROM annotation_queue_records WHERE queue_id = $1', [
            queueId,
          ]);
          if (Total.parse(counted).total > MAX_QUEUE_RECORDS)
            throw new ServiceError(
              'Conflict',
              `a queue holds at most ${MAX_QUEUE_RECORDS} records: add fewer, or make another queue`,
            );
          return Ids.parse(rows);
        })
        .catch(missingReference('run')),
    removeRecords: (queueId, recordIds) =>
      database.transaction(async (tx) => {
        await lockQueue(tx, queueId);
        const sql =
          'DELETE FROM annotation_queue_records WHERE queue_id = $1 AND record_id = ANY($2::uuid[]) RETURNING record_id';
        return (await tx.query(sql, [queueId, [...recordIds]])).length;
      }),
    async forgetRecords({ projectId, runId, ids }) {
      const { bind, values } = createBinder();
      const conditions = [`project_id = ${bind(projectId, 'uuid')}`];
      if (runId !== undefined) conditions.push(`run_id = ${bind(runId, 'uuid')}`);
      if (ids !== undefined) conditions.push(`record_id = ANY(${bind([...ids], 'uuid[]')})`);
      await database.query(`DELETE FROM annotation_queue_records ${where(conditions)}`, values);
    },

    async rate({ queueId, recordId, templateId, userId }, { value, explanation }) {
      const row = await database
        .maybeOne(
          `INSERT INTO annotation_ratings (template_id, record_id, user_id, queue_id, value, explanation)
           SELECT $3::uuid, record_id, $4::uuid, queue_id, $5::jsonb, $6::text FROM annotation_queue_records WHERE queue_id = $1 AND record_id = $2
           ON CONFLICT (template_id, record_id, user_id) DO UPDATE SET value = excluded.value, explanation = excluded.explanation, created_at = now()
           RETURNING *`,
          [queueId, recordId, templateId, userId, JSON.stringify(value), explanation],
        )
        .catch(missingReference('record or template in this queue'));
      return row && RatingRow.parse(row);
    },
    async removeRating({ queueId, recordId, templateId, userId }) {
      const row = await database.maybeOne(
        'DELETE FROM annotation_ratings WHERE queue_id = $1 AND record_id = $2 AND template_id = $3 AND user_id = $4 RETURNING record_id',
        [queueId, recordId, templateId, userId],
      );
      return row !== undefined;
    },
    annotationsOfQueue: (queueId) => annotations('queue_id = $1', [queueId]),

    async hasQueuedRecords(projectId) {
      const row = await database.maybeOne('SELECT EXISTS (SELECT FROM annotation_queue_records WHERE project_id = $1) AS yes', [
        projectId,
      ]);
      return z.object({ yes: z.boolean() }).parse(row).yes;
    },
    annotationsOf: (run, recordIds) =>
      annotations('project_id = $1 AND run_id = $2 AND record_id = ANY($3::uuid[])', [run.projectId, run.runId, [...recordIds]]),
    async ratedTemplates(projectId, runIds) {
      const rows = await database.query(
        `SELECT t.id, t.queue_id AS "queueId", t.constraints FROM annotation_templates t WHERE t.id IN (
           SELECT a.template_id FROM annotation_queue_records m JOIN annotation_ratings a USING (queue_id, record_id)
           WHERE m.project_id = $1 AND m.run_id = ANY($2::uuid[]))
         ORDER BY t.queue_id, t.position`,
        [projectId, [...runIds]],
      );
      return rows.map((row) => TemplateOfRatings.parse(row));
    },
    async queuedRecordsOf(projectId, runIds, queueIds, { after, limit }) {
      const { bind, values } = createBinder();
      const conditions = [
        `project_id = ${bind(projectId, 'uuid')} AND run_id = ANY(${bind([...runIds], 'uuid[]')}) AND queue_id = ANY(${bind([...queueIds], 'uuid[]')})`,
      ];
      if (after) {
        const [runId, recordId, queueId] = [after.runId, after.recordId, after.queueId].map((id) => bind(id, 'uuid'));
        conditions.push(`(run_id, record_id, queue_id) > (${runId}, ${recordId}, ${queueId})`);
      }
      const rows = await database.query(
        `SELECT record_id, queue_id, run_id FROM annotation_queue_records ${where(conditions)}
         ORDER BY run_id, record_id, queue_id LIMIT ${bind(limit, 'int8')}`,
        values,
      );
      return rows.map((row) => QueuedInRow.parse(row));
    },
    async ratingCounts(records) {
      const column = (of: (record: RootedRecord) => string) => records.map(of);
      const rows = await database.query(
        `SELECT run_id AS "runId", template_id AS "templateId", root_type AS "rootType", value,
           count(*)::int AS count, (count(*) FILTER (WHERE nth = 1))::int AS records
         FROM (
           SELECT m.run_id, m.root_type, a.template_id, a.created_at,
             CASE WHEN t.constraints ->> 'annotation_type' = 'text' THEN '""' ELSE a.value END AS value,
             row_number() OVER (PARTITION BY a.template_id, a.record_id ORDER BY a.created_at, a.user_id) AS nth
           FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[]) AS m (queue_id, record_id, run_id, root_type)
           JOIN annotation_ratings a USING (queue_id, record_id) JOIN annotation_templates t ON t.id = a.template_id
         ) given GROUP BY run_id, template_id, root_type, value ORDER BY min(created_at)`,
        [
          column(({ queueId }) => queueId),
          column(({ recordId }) => recordId),
          column(({ runId }) => runId),
          column(({ rootType }) => rootType),
        ],
      );
      return rows.map((row) => RatingCountRow.parse(row));
    },
    async fullyAnnotated(run, userIds) {
      // A template that each of the users rated has as many ratings of theirs; one that anybody rated counts once.
      const { bind, values } = createBinder();
      const ofRun = `project_id = ${bind(run.projectId, 'uuid')} AND run_id = ${bind(run.runId, 'uuid')}`;
      const wanted = userIds && [...new Set(userIds)];
      const counted = wanted ? 'count(*)' : 'count(DISTINCT a.template_id)';
      const byThem = wanted ? `AND a.user_id = ANY(${bind(wanted, 'uuid[]')})` : '';
      const rows = await database.query(
        `SELECT m.record_id AS id FROM annotation_queue_records m
         CROSS JOIN LATERAL (SELECT count(*) AS n FROM annotation_templates t WHERE t.queue_id = m.queue_id) templates
         CROSS JOIN LATERAL (SELECT ${counted} AS n FROM annotation_ratings a WHERE a.queue_id = m.queue_id AND a.record_id = m.record_id ${byThem}) rated
         WHERE ${ofRun} GROUP BY m.record_id HAVING sum(templates.n) > 0 AND bool_and(rated.n = templates.n * ${bind(wanted?.length ?? 1, 'int8')})`,
        values,
      );
      return Ids.parse(rows);
    },
    async templatesOfRun(run) {
      const rows = await database.query(
        `SELECT t.id, t.queue_id AS "queueId", t.name, t.constraints FROM annotation_templates t JOIN annotation_queues q ON q.id = t.queue_id
         WHERE EXISTS (SELECT FROM annotation_queue_records m WHERE m.queue_id = t.queue_id AND m.project_id = $1 AND m.run_id = $2)
         ORDER BY q.created_at, q.id, t.position`,
        [run.projectId, run.runId],
      );
      return rows.map((row) => NamedTemplateRow.parse(row));
    },
  };
}
