import { z } from 'zod';
import { inPieces } from '../../concurrency/inPieces.ts';
import type { SelectedRows } from '../../datasets/rowSelection.ts';
import type { ExperimentAggregates } from '../../experiments/aggregates.ts';
import { type LoggedMetrics, runStates } from '../../experiments/experiment.ts';
import type { BaselinePick, Experiment, ExperimentStore, NewExperiment } from '../../experiments/experimentStore.ts';
import { UserInfo } from '../../wire/datasets.ts';
import { GateStatus } from '../../wire/experimentGate.ts';
import { type MetricScale, noScale } from '../../wire/metricScale.ts';
import { createBinder } from './conditions.ts';
import type { Database, Queries } from './database.ts';
import { isUniqueViolation } from './databaseErrors.ts';
import { removeEmptyGroup, resolveGroup } from './experimentGroups.ts';
import { experimentListing } from './experimentQuery.ts';
import { inCamelCase } from './inCamelCase.ts';
import { countListed, type Listing, listedIds, slices } from './listScan.ts';
import { missingReference } from './missingReference.ts';
import { inOrder } from './pageOf.ts';
import { ranksIn } from './ranks.ts';
import { RunTagRow } from './runTags.ts';
import { userInfoSql } from './userInfo.ts';

const AnyObject = z.record(z.string(), z.unknown());

const ExperimentRow = z
  .object({
    id: z.string(),
    project_id: z.string(),
    name: z.string(),
    series: z.string(),
    approved_at: z.date().nullable(),
    approved_by: z.string().nullable(),
    gate_status: GateStatus.nullable(),
    gated_at: z.date().nullable(),
    task_type: z.literal([16, 17]),
    created_at: z.date(),
    updated_at: z.date(),
    group_id: z.string(),
    group_name: z.string(),
    group_is_system: z.boolean(),
    dataset_id: z.string().nullable(),
    dataset_version_index: z.number().nullable(),
    dataset_name: z.string().nullable(),
    dataset_row_count: z.number().nullable(),
    prompt: z
      .object({
        templateVersionId: z.string(),
        templateId: z.string(),
        version: z.number(),
        name: z.string(),
        template: z.unknown(),
        settings: AnyObject,
      })
      .nullable(),
    prompt_settings: AnyObject.nullable(),
    playground_id: z.string().nullable(),
    failed_rows: z.enum(['omit', 'worst']),
    logged_metrics: z.custom<LoggedMetrics>((value) => typeof value === 'object'),
    state: z.enum(runStates),
    workflow_number: z.number(),
    selected_rows: z.custom<SelectedRows>().nullable(),
    trials: z.number(),
    row_count: z.number().nullable(),
    error: z.string().nullable(),
    aggregates: z.custom<ExperimentAggregates>((value) => typeof value === 'object').nullable(),
    started_at: z.date().nullable(),
    ended_at: z.date().nullable(),
    ranking_score: z.number().nullable(),
    has_rivals: z.boolean(),
    created_by: UserInfo,
  })
  .transform((columns): Omit<Experiment, 'tags' | 'ranking'> & { rankingScore: number | null; hasRivals: boolean } => {
    const { prompt, approved_at, approved_by, gate_status, gated_at, ...others } = columns;
    const { group_id, group_name, group_is_system, dataset_id, dataset_version_index, dataset_name, ...row } = others;
    return {
      ...inCamelCase(row),
      approval: approved_at && approved_by ? { at: approved_at, by: approved_by } : null,
      gate: gate_status && gated_at ? { status: gate_status, at: gated_at } : null,
      group: { id: group_id, name: group_name, isSystem: group_is_system },
      dataset: dataset_id === null ? null : { id: dataset_id, versionIndex: dataset_version_index ?? 0, name: dataset_name },
      prompt: prompt && {
        templateVersionId: prompt.templateVersionId,
        templateId: prompt.templateId,
        version: prompt.version,
        name: prompt.name,
        content: typeof prompt.template === 'string' ? prompt.template : JSON.stringify(prompt.template),
        settings: prompt.settings,
      },
    };
  });

/**
 * `$1` is the project, `$2` the experiments. Their groups are ranked once for all of them, down to the lowest of them: counting the better ones of
 * each is the square of a group.
 */
const SELECT = `
  SELECT r.id, r.project_id, r.name, r.series, e.approved_at, e.approved_by, e.gate_status, e.gated_at, r.created_at, r.updated_at, ${userInfoSql('u')} AS created_by,
         e.task_type, e.dataset_id, e.dataset_version_index, e.dataset_name, e.prompt_settings, e.playground_id, e.logged_metrics, e.failed_rows,
         e.state, e.workflow_number, e.selected_rows, e.trials, e.row_count, e.error, e.aggregates, e.started_at, e.ended_at, e.ranking_score,
         e.ranking_score IS NOT NULL
           AND EXISTS (SELECT 1 FROM experiments o WHERE o.group_id = e.group_id AND o.run_id <> e.run_id AND o.ranking_score IS NOT NULL) AS has_rivals,
         g.id AS group_id, g.name AS group_name, g.is_system AS group_is_system,
         (SELECT d.num_rows FROM dataset_versions d
           WHERE d.dataset_id = e.dataset_id AND d.version_index = e.dataset_version_index) AS dataset_row_count,
         (SELECT jsonb_build_object('templateVersionId', v.id, 'templateId', t.id, 'version', v.version, 'name', t.name,
                                    'template', v.template, 'settings', v.settings)
            FROM prompt_template_versions v JOIN prompt_templates t ON t.id = v.template_id
           WHERE v.id = e.prompt_template_version_id) AS prompt
  FROM experiments e JOIN runs r ON r.id = e.run_id JOIN experiment_groups g ON g.id = e.group_id JOIN users u ON u.id = r.created_by
 WHERE e.project_id = $1 AND e.run_id = ANY ($2::uuid[])`;

/** A metric in some experiments, with the scale of the one of them that changed last. */
const AggregatedRow = z.object({
  metric: z.string(),
  numbers: z.boolean(),
  booleans: z.boolean(),
  scale: z.custom<MetricScale>((value) => typeof value === 'object').nullable(),
  scaled_ms: z.number().nullable(),
});
const aggregatedSql = {
  each: `found.metric, coalesce(jsonb_typeof(found.figures -> 'avg') = 'number', false) AS is_number,
    coalesce(jsonb_typeof(found.figures -> 'pct') = 'number', false) AS is_boolean,
    e.logged_metrics -> found.metric AS scale, extract(epoch FROM r.updated_at) * 1000 AS changed_ms`,
  sql: `SELECT coalesce(jsonb_agg(metrics), '[]') FROM (
    SELECT metric, bool_or(is_number) AS numbers, bool_or(is_boolean) AS booleans,
           (array_agg(scale ORDER BY changed_ms DESC) FILTER (WHERE scale IS NOT NULL))[1] AS scale,
           max(changed_ms) FILTER (WHERE scale IS NOT NULL) AS scaled_ms
      FROM listed GROUP BY metric) metrics`,
};

const MetricIdsRow = z.object({ id: z.string(), metrics: z.array(z.string()) });

const pickSql: Record<BaselinePick, string> = {
  newest: 'true',
  approved: 'e.approved_at IS NOT NULL',
  passed: "(e.gate_status = 'passed' OR e.approved_at IS NOT NULL)",
};

/** A run of the series of this name; where there is no such series, the run that is called so, whenever it was made. */
const namedRunSql = (project: string, name: string, isEarlier: string): string =>
  `CASE WHEN EXISTS (SELECT 1 FROM runs n JOIN experiments ne ON ne.run_id = n.id WHERE n.project_id = ${project} AND n.series = ${name})
        THEN r.series = ${name} AND (s.series <> r.series OR ${isEarlier}) ELSE r.name = ${name} END`;

/** Experiments of a project by their ids, in the order of those; one that is gone is left out. */
async function byIds(database: Database, projectId: string, ids: readonly string[]): Promise<Experiment[]> {
  const found = inOrder(ids, await database.query(SELECT, [projectId, ids]), ExperimentRow);
  const scored = found.flatMap(({ group, rankingScore: score }) => (score === null ? [] : [{ groupId: group.id, score }]));
  const rankOf = await ranksIn(database, scored);
  const tagRows = await database.query('SELECT * FROM run_tags WHERE run_id = ANY ($1::uuid[]) ORDER BY created_at, id', [
    found.map((experiment) => experiment.id),
  ]);
  const tags = Map.groupBy(z.array(RunTagRow).parse(tagRows), (tag) => tag.runId);
  return found.map(({ rankingScore: score, hasRivals, ...experiment }) => {
    const rank = score === null ? 0 : rankOf(experiment.group.id, score);
    const ranking = score === null ? null : { score, rank, isWinner: rank === 1 && hasRivals };
    return { ...experiment, ranking, tags: tags.get(experiment.id) ?? [] };
  });
}

const json = (value: unknown): string | null => (value === null || value === undefined ? null : JSON.stringify(value));

/** Experiments as resources in Postgres. */
export function postgresExperiments(database: Database): ExperimentStore {
  const find = async (projectId: string, experimentId: string) => {
    const [found] = await byIds(database, projectId, [experimentId]);
    return found;
  };
  return {
    find,
    insert: (experiment) =>
      database
        .transaction((tx) => insert(tx, experiment))
        .catch((err: unknown) => {
          if (isUniqueViolation(err, 'experiment_creations_key')) return undefined;
          throw err;
        })
        .catch(missingReference('project')),
    async created(projectId, createdBy, key) {
      const row = await database.maybeOne(
        `SELECT run_id AS "experimentId", request_hash AS "requestHash" FROM experiment_creations
          WHERE project_id = $1 AND created_by = $2 AND key = $3`,
        [projectId, createdBy, key],
      );
      return row && z.object({ experimentId: z.string(), requestHash: z.string() }).parse(row);
    },
    async discard(experimentId, newGroupId) {
      await database.transaction(async (tx) => {
        await tx.query(
          `DELETE FROM runs WHERE id = $1 AND EXISTS (SELECT 1 FROM experiments WHERE run_id = $1 AND state = 'idle')`,
          [experimentId],
        );
        if (newGroupId !== undefined) await removeEmptyGroup(tx, newGroupId);
      });
    },
    async list(projectId, query, page) {
      const { items: ids, hasMore } = await listedIds(database, experimentListing(projectId, query), page);
      return { items: await inPieces(ids, (piece) => byIds(database, projectId, piece)), hasMore };
    },
    count: (projectId, query) => countListed(database, experimentListing(projectId, query)),
    ids: async (projectId) => (await listedIds(database, experimentListing(projectId, { filters: [] }), undefined)).items,
    byIds: (projectId, ids) => byIds(database, projectId, ids),
    async lastFinished(projectId, { tag, name, pick }, except) {
      const { bind, values } = createBinder();
      const project = bind(projectId, 'uuid');
      const other = bind(except, 'uuid');
      const isEarlier = '(r.created_at, r.id) < (s.created_at, s.id)';
      const among = tag
        ? `EXISTS (SELECT 1 FROM run_tags t WHERE t.run_id = e.run_id AND t.key = ${bind(tag.key, 'text')} AND t.value = ${bind(tag.value, 'text')})`
        : name === undefined
          ? `s.series = r.series AND ${isEarlier}`
          : namedRunSql(project, bind(name, 'text'), isEarlier);
      const row = await database.maybeOne(
        `SELECT e.run_id FROM experiments e JOIN runs r ON r.id = e.run_id JOIN runs s ON s.id = ${other}
          WHERE e.project_id = ${project} AND r.project_id = ${project} AND e.run_id <> ${other} AND ${among} AND ${pickSql[pick]}
            AND coalesce((e.aggregates ->> 'rowsFailed')::int < (e.aggregates ->> 'rows')::int, true)
            AND (e.state = 'completed' OR e.state = 'idle' AND ((e.aggregates ->> 'rows')::int > 0 OR e.gate_status IS NOT NULL))
          ORDER BY ${name === undefined ? '' : `${isEarlier} DESC, `}coalesce(e.ended_at, r.created_at) DESC, r.id DESC LIMIT 1`,
        values,
      );
      return row && z.string().parse(row.run_id);
    },
    async approve(projectId, experimentId, by) {
      const rows = await database.query(
        `UPDATE experiments SET approved_by = $3, approved_at = CASE WHEN $3::uuid IS NOT NULL THEN now() END
          WHERE project_id = $1 AND run_id = $2 RETURNING run_id`,
        [projectId, experimentId, by],
      );
      return rows.length > 0;
    },
    async noteGate(projectId, experimentId, status) {
      await database.query(
        `UPDATE experiments SET gate_status = CASE WHEN gate_status = 'failed' THEN gate_status ELSE $3 END, gated_at = now()
          WHERE project_id = $1 AND run_id = $2`,
        [projectId, experimentId, status],
      );
    },
    async metricIds(experimentIds) {
      const rows = await database.query(
        `SELECT run_id AS id, jsonb_path_query_array(scorers, '$[*].id') AS metrics FROM run_scorer_settings WHERE run_id = ANY ($1::uuid[])`,
        [experimentIds],
      );
      return new Map(
        z
          .array(MetricIdsRow)
          .parse(rows)
          .map(({ id, metrics }) => [id, [...new Set(metrics)]]),
      );
    },
    async aggregatedMetrics(projectId) {
      const listing: Listing = {
        ...experimentListing(projectId, { filters: [] }),
        joins: `JOIN experiments e ON e.run_id = r.id CROSS JOIN LATERAL jsonb_each(e.aggregates -> 'metrics') AS found (metric, figures)`,
      };
      const all = new Map<string, z.output<typeof AggregatedRow>>();
      for await (const found of slices(database, listing, aggregatedSql))
        for (const row of z.array(AggregatedRow).parse(found)) {
          const before = all.get(row.metric);
          const scaled = before && (before.scaled_ms ?? -1) >= (row.scaled_ms ?? -1) ? before : row;
          all.set(row.metric, {
            metric: row.metric,
            numbers: row.numbers || before?.numbers === true,
            booleans: row.booleans || before?.booleans === true,
            scale: scaled.scale,
            scaled_ms: scaled.scaled_ms,
          });
        }
      return [...all.values()]
        .sort((a, b) => (a.metric < b.metric ? -1 : 1))
        .map(({ metric, numbers, booleans, scale }) => ({
          metric,
          dataType: booleans ? 'boolean' : numbers ? 'floating_point' : 'text',
          scale: scale ?? noScale,
        }));
    },
    async update(projectId, experimentId, { name, taskType, group, by }) {
      const found = await database.transaction(async (tx) => {
        const run = await tx.maybeOne(
          `UPDATE runs SET name = $3, updated_at = now() WHERE id = $2 AND project_id = $1 AND kind = 'experiment' RETURNING id`,
          [projectId, experimentId, name],
        );
        if (!run) return false;
        const groupId = group && (await resolveGroup(tx, projectId, group, by)).id;
        await tx.query(
          'UPDATE experiments SET task_type = coalesce($2, task_type), group_id = coalesce($3, group_id) WHERE run_id = $1',
          [experimentId, taskType ?? null, groupId ?? null],
        );
        return true;
      });
      return found ? find(projectId, experimentId) : undefined;
    },
    async templateOfVersion(templateVersionId) {
      const row = await database.maybeOne(
        `SELECT t.id, v.settings FROM prompt_template_versions v JOIN prompt_templates t ON t.id = v.template_id
          WHERE v.id = $1 AND t.deleted_at IS NULL`,
        [templateVersionId],
      );
      return row && z.object({ id: z.string(), settings: AnyObject }).parse(row);
    },
  };
}

async function insert(tx: Queries, experiment: NewExperiment): Promise<{ newGroupId: string | undefined }> {
  const { id, projectId, name, createdBy } = experiment;
  const group = await resolveGroup(tx, projectId, experiment.group, createdBy);
  await tx.query(`INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ($1, $2, 'experiment', $3, $4)`, [
    id,
    projectId,
    name,
    createdBy,
  ]);
  await tx.query(
    `INSERT INTO experiments (run_id, project_id, group_id, task_type, dataset_id, dataset_version_index, dataset_name,
                              prompt_template_version_id, prompt_settings, playground_id, playground_prompt_id, logged_metrics, trials, failed_rows,
                              wanted_rows)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    [
      id,
      projectId,
      group.id,
      experiment.taskType,
      experiment.dataset?.id ?? null,
      experiment.dataset?.versionIndex ?? null,
      experiment.dataset?.name ?? null,
      experiment.promptTemplateVersionId,
      json(experiment.promptSettings),
      experiment.playgroundId,
      experiment.playgroundPromptId,
      JSON.stringify(experiment.loggedMetrics),
      experiment.trials,
      experiment.failedRows,
      json(experiment.rows),
    ],
  );
  if (experiment.scorers)
    await tx.query('INSERT INTO run_scorer_settings (run_id, project_id, scorers) VALUES ($1, $2, $3)', [
      id,
      projectId,
      JSON.stringify(experiment.scorers),
    ]);
  if (experiment.creation)
    await tx.query(
      'INSERT INTO experiment_creations (project_id, created_by, key, request_hash, run_id) VALUES ($1, $2, $3, $4, $5)',
      [projectId, createdBy, experiment.creation.key, experiment.creation.requestHash, id],
    );
  return { newGroupId: group.isNew ? group.id : undefined };
}
