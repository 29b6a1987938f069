import { z } from 'zod';
import { foldCase } from '../../identifiers/foldCase.ts';
import type { RunScorerSettings, Scorer, ScorerDefinition, ScorerStore, ScorerVersion } from '../../scorers/scorer.ts';
import {
  ChainAggregation,
  ChainPollTemplate,
  CodeScoreType,
  CreateScorerRequest,
  InputType,
  OutputType,
  ScorerConfig,
  ScorerType,
  SegmentFilter,
} from '../../wire/scorers.ts';
import { TunedInputType, TunedOutputType } from '../../wire/scorerVersions.ts';
import { markDeleted } from './assetAccess.ts';
import { createBinder, textCondition } from './conditions.ts';
import type { Database, Queries } from './database.ts';
import { isUniqueViolation } from './databaseErrors.ts';
import { inCamelCase } from './inCamelCase.ts';
import { type Listing, listedItems, timeKey } from './listScan.ts';
import { newestSettings } from './scorerSettings.ts';
import { versionColumns, versionTable } from './versionTable.ts';

const JudgeDefinitionRow = z.object({
  template: ChainPollTemplate,
  userPrompt: z.string().nullable(),
  instructions: z.string().nullable(),
  modelName: z.string().nullable(),
  modelNames: z.array(z.string()).nullish(),
  numJudges: z.number().int(),
  nodeTypes: z.array(z.string()),
  explain: z.boolean(),
  outputType: OutputType,
  inputType: InputType.nullable(),
  tuned: z
    .object({
      loraTaskId: z.number(),
      loraWeightsPath: z.string().nullable(),
      executor: z.string().nullable(),
      inputType: TunedInputType.nullable(),
      outputType: TunedOutputType.nullable(),
    })
    .optional(),
});

const CodeDefinitionRow = z.object({
  code: z.string(),
  scoreType: CodeScoreType,
  nodeTypes: z.array(z.string()),
  outputType: OutputType,
  aggregates: z.boolean(),
  chainAggregation: ChainAggregation.nullable(),
});

const VersionRow = z
  .object({ ...versionColumns, definition: z.union([CodeDefinitionRow, JudgeDefinitionRow]) })
  .transform((row): ScorerVersion => inCamelCase(row));

const DefinitionRow = CreateScorerRequest.omit({
  id: true,
  name: true,
  scorer_type: true,
  default_version_id: true,
  project_ids: true,
});

const ScorerRow = z
  .object({
    id: z.string(),
    name: z.string(),
    scorer_type: ScorerType,
    definition: DefinitionRow,
    scope_projects: z.array(z.object({ id: z.string(), name: z.string() })),
    default_version: VersionRow.nullable(),
    latest_version: VersionRow.nullable(),
    created_by: z.string(),
    created_at: z.date(),
    updated_at: z.date(),
    deleted: z.boolean(),
  })
  .transform(({ definition, ...row }): Scorer => ({ ...inCamelCase(row), definition: definition as ScorerDefinition }));

const UseRow = z
  .object({ project_id: z.string(), log_streams: z.int(), experiments: z.int() })
  .transform(({ project_id, log_streams, experiments }) => [project_id, { logStreams: log_streams, experiments }] as const);

const SettingsRow = z
  .object({ scorers: z.array(ScorerConfig), segment_filters: z.array(SegmentFilter).nullable() })
  .transform((row): RunScorerSettings => inCamelCase(row));

const SCORERS = `
  SELECT s.id, s.name, s.scorer_type, s.definition, s.created_by, s.created_at, s.updated_at, s.deleted_at IS NOT NULL AS deleted,
    coalesce((SELECT jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name) ORDER BY p.name)
              FROM projects p WHERE p.id = ANY (s.project_ids)), '[]') AS scope_projects,
    (SELECT to_jsonb(v) FROM scorer_versions v WHERE v.id = s.default_version_id) AS default_version,
    (SELECT to_jsonb(v) FROM scorer_versions v WHERE v.scorer_id = s.id ORDER BY v.version DESC LIMIT 1) AS latest_version
  FROM scorers s`;

/** Where a scorer has its name: the organization, or its projects. */
const PLACE = "CASE WHEN organization THEN '{}'::uuid[] ELSE project_ids END";

/**
 * Holds a name until the transaction ends, unless another scorer has it in the same place: the index on names does not fold case fully.
 * @param projectIds absent: those of the scorer that has this id
 */
async function takeName(
  tx: Queries,
  {
    id,
    name,
    organization = false,
    projectIds,
  }: { id: string; name: string; organization?: boolean; projectIds?: readonly string[] },
): Promise<boolean> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`scorer name/${foldCase(name)}`]);
  const { bind, values } = createBinder();
  const place = projectIds
    ? bind(organization ? [] : projectIds, 'uuid[]')
    : `(SELECT ${PLACE} FROM scorers WHERE id = ${bind(id, 'uuid')})`;
  const isNamed = textCondition('name', { operator: 'eq', value: name, caseSensitive: false }, bind);
  const taken = await tx.query(
    `SELECT id FROM scorers WHERE deleted_at IS NULL AND id <> ${bind(id, 'uuid')} AND ${PLACE} = ${place} AND ${isNamed} LIMIT 1`,
    values,
  );
  return taken.length === 0;
}

export function scorerStore(database: Database): ScorerStore {
  const versions = versionTable(database, 'scorer_versions', 'definition', VersionRow);
  return {
    insert: (scorer) =>
      database.transaction(async (tx) => {
        if (!(await takeName(tx, scorer))) return false;
        const rows = await tx.query(
          `WITH made AS (INSERT INTO scorers (id, name, scorer_type, definition, project_ids, created_by, organization)
           VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING id),
         owner AS (INSERT INTO scorer_users (id, asset_id, user_id, role)
           SELECT gen_random_uuid(), made.id, u.id, 'owner' FROM made JOIN users u ON u.id = $6)
         SELECT id FROM made`,
          [
            scorer.id,
            scorer.name,
            scorer.scorerType,
            JSON.stringify(scorer.definition),
            scorer.projectIds,
            scorer.createdBy,
            scorer.organization,
          ],
        );
        return rows.length === 1;
      }),
    async list() {
      const listing: Listing = {
        ...{ table: 'scorers', alias: 's', within: 's.deleted_at IS NULL', conditions: [], values: [] },
        walk: { columns: [['id', 'uuid']], descending: false },
        by: { sql: timeKey('s.updated_at'), descending: true, nullsFirst: false },
      };
      const read = (ids: readonly string[]) => database.query(`${SCORERS} WHERE s.id = ANY ($1::uuid[])`, [ids]);
      return (await listedItems(database, listing, undefined, read, ScorerRow)).items;
    },
    async findEver(ids) {
      const rows = await database.query(`${SCORERS} WHERE s.id = ANY ($1::uuid[])`, [ids]);
      return rows.map((row) => ScorerRow.parse(row));
    },
    async find(id) {
      const row = await database.maybeOne(`${SCORERS} WHERE s.id = $1 AND s.deleted_at IS NULL`, [id]);
      return row && ScorerRow.parse(row);
    },
    async update(id, change) {
      try {
        return await database.transaction(async (tx) => {
          if (change.name !== undefined && !(await takeName(tx, { id, name: change.name }))) return false;
          await tx.query(
            `UPDATE scorers SET name = coalesce($2, name), default_version_id = coalesce($3, default_version_id), definition = definition || $4::jsonb,
             updated_at = now() WHERE id = $1 AND deleted_at IS NULL`,
            [id, change.name ?? null, change.defaultVersionId ?? null, JSON.stringify(change.definition)],
          );
          return true;
        });
      } catch (err) {
        if (isUniqueViolation(err, 'scorers_name')) return false;
        throw err;
      }
    },
    async setScope(id, { organization, projectIds }) {
      try {
        return await database.transaction(async (tx) => {
          const row = await tx.maybeOne('SELECT name FROM scorers WHERE id = $1 AND deleted_at IS NULL FOR UPDATE', [id]);
          if (!row || !(await takeName(tx, { id, name: z.string().parse(row.name), organization, projectIds }))) return false;
          await tx.query(
            `UPDATE scorers SET organization = $2, project_ids = $3, updated_at = now(),
               definition = definition || jsonb_build_object('is_global', $2::boolean) WHERE id = $1`,
            [id, organization, projectIds],
          );
          return true;
        });
      } catch (err) {
        if (isUniqueViolation(err, 'scorers_name')) return false;
        throw err;
      }
    },
    async usedIn(id, versionId) {
      const { bind, values } = createBinder();
      const scorer = `${bind(JSON.stringify([{ id }]), 'text')}::jsonb`;
      // A config without a version computes with the default one.
      const ofVersion =
        versionId === undefined
          ? ''
          : `AND EXISTS (SELECT FROM jsonb_array_elements(s.scorers) config
               WHERE config ->> 'id' = ${bind(id, 'text')}
                 AND coalesce(config #>> '{scorer_version,id}',
                   (SELECT default_version_id::text FROM scorers WHERE id = ${bind(id, 'uuid')})) = ${bind(versionId, 'text')})`;
      const rows = await database.query(
        `SELECT s.project_id, count(*) FILTER (WHERE r.kind = 'log_stream')::int AS log_streams,
           count(*) FILTER (WHERE r.kind = 'experiment')::int AS experiments
         FROM run_scorer_settings s JOIN runs r ON r.id = s.run_id
         WHERE s.scorers @> ${scorer} ${ofVersion} GROUP BY s.project_id`,
        values,
      );
      return new Map(z.array(UseRow).parse(rows));
    },
    delete: (id) => markDeleted(database, 'scorer', id),
    addVersion: (version) =>
      database.transaction(async (tx) => {
        // The lock on the scorer's row lets versions made at once count one after the other.
        if (!(await tx.maybeOne('SELECT id FROM scorers WHERE id = $1 AND deleted_at IS NULL FOR UPDATE', [version.scorerId])))
          return undefined;
        const added = await versions.insert(tx, version, version.definition);
        await tx.query('UPDATE scorers SET default_version_id = $2, updated_at = now() WHERE id = $1', [
          version.scorerId,
          version.id,
        ]);
        return added;
      }),
    findVersion: versions.find,
    findVersionById: versions.findById,
    versions: versions.list,
    async runExists(projectId, runId, kinds) {
      const row = await database.maybeOne(
        'SELECT 1 AS found FROM runs WHERE id = $1 AND project_id = $2 AND kind = ANY ($3::text[])',
        [runId, projectId, kinds],
      );
      return row !== undefined;
    },
    async runSettings(projectId, runId) {
      const row = await database.maybeOne(
        'SELECT scorers, segment_filters FROM run_scorer_settings WHERE run_id = $1 AND project_id = $2',
        [runId, projectId],
      );
      return row && SettingsRow.parse(row);
    },
    saveRunSettings: (projectId, runId, settings) => saveRunSettings(database, projectId, runId, settings),
    async enabledIn(runId) {
      const rows = await database.query(
        `SELECT config ->> 'id' AS id FROM run_scorer_settings, jsonb_array_elements(scorers) AS config WHERE run_id = $1`,
        [runId],
      );
      return rows.map((row) => z.string().parse(row.id));
    },
    async projectScorers(projectId) {
      return (await newestSettings(database, projectId)).map((config) => ScorerConfig.parse(config));
    },
  };
}

export async function saveRunSettings(
  queries: Queries,
  projectId: string,
  runId: string,
  settings: Partial<RunScorerSettings>,
): Promise<RunScorerSettings> {
  const row = await queries.maybeOne(
    `INSERT INTO run_scorer_settings (run_id, project_id, scorers, segment_filters) VALUES ($1, $2, coalesce($3::jsonb, '[]'), $4::jsonb)
     ON CONFLICT (run_id) DO UPDATE SET scorers = coalesce($3::jsonb, run_scorer_settings.scorers),
       segment_filters = coalesce($4::jsonb, run_scorer_settings.segment_filters), updated_at = now(),
       scored_from = CASE WHEN run_scorer_settings.scorers = '[]' THEN clock_timestamp() ELSE run_scorer_settings.scored_from END
     RETURNING scorers, segment_filters`,
    [runId, projectId, jsonOrNull(settings.scorers), jsonOrNull(settings.segmentFilters)],
  );
  return SettingsRow.parse(row);
}

const jsonOrNull = (value: unknown): string | null => (value === undefined || value === null ? null : JSON.stringify(value));
