import type { Caller } from '../../shared/accounts/permissions.ts';
import { type AssetAccess, homeProject } from '../../shared/assets/assetAccess.ts';
import { type DatasetDeps, foundVersion } from '../../shared/datasets/createDataset.ts';
import type { SourceRow } from '../../shared/datasets/experimentRow.ts';
import { toExperimentRow } from '../../shared/datasets/experimentRow.ts';
import { datasetRowStore } from '../../shared/datasets/rowStore.ts';
import { RequestInvalid, ServiceError } from '../../shared/errors/errors.ts';
import { namedRun, type RunIds, type RunRef, runNotFound } from '../../shared/projects/runs.ts';
import { findKeys } from '../../shared/records/searchRecords.ts';
import type { EnabledMetric } from '../../shared/scorers/resolveMetrics.ts';
import type { TryOutSource } from '../../shared/scoring/metricTryOut.ts';
import type { RecordToScore } from '../../shared/scoring/recordToScore.ts';
import type { ScoredRun, ScoringStore } from '../../shared/scoring/scoring.ts';
import { MAX_SAMPLES, type TriedRecords, type TriedRows } from '../../shared/wire/judgeTryOut.ts';
import type { Gate } from '../http/route.ts';
import { type RecordSearchDeps, recordQuery, sortableColumn } from '../records/recordQuery.ts';

export interface TryOutSourceDeps extends RecordSearchDeps, DatasetDeps {
  gate: Pick<Gate, 'authorize'>;
  assets: Pick<AssetAccess, 'require'>;
  scorings: Pick<ScoringStore, 'findRun'>;
  /** A record as the metric sees it; undefined where it was deleted. */
  recordToScore(run: RunRef, recordId: string, metric: EnabledMetric): Promise<RecordToScore | undefined>;
}

/** Sources for a try-out of a metric: the number of all that match, and those on the requested page. */
export interface TryOutPage {
  sources: TryOutSource[];
  matching: number;
}

/** Finds the sources that an unsaved metric is tried out on, for callers who may have records of the project scored. */
export function tryOutSources(deps: TryOutSourceDeps) {
  const rowStore = datasetRowStore(deps);
  const mayScore = (caller: Caller, projectId: string) => deps.gate.authorize(caller, { project: 'set_metric' }, projectId);
  return {
    /** @throws RequestInvalid where nothing says which project */
    async projectOf(caller: Caller, given: string | null | undefined): Promise<string> {
      const projectId = homeProject(caller, given ?? undefined);
      if (projectId === undefined)
        throw new RequestInvalid([
          { loc: ['body', 'project_id'], msg: 'name the project that the try-out belongs to', type: 'missing' },
        ]);
      await mayScore(caller, projectId);
      return projectId;
    },
    /** The run that a request names, which does not say its project. @throws ServiceError `RunNotFound` */
    async runOf(caller: Caller, ids: RunIds): Promise<ScoredRun> {
      const named = namedRun('', ids);
      const run = await deps.scorings.findRun(named.runId);
      if (!run) throw runNotFound(named);
      await mayScore(caller, run.projectId).catch((err: unknown) => {
        throw err instanceof ServiceError && err.code === 'NotFound' ? runNotFound(named) : err;
      });
      return run;
    },
    async records({ projectId, runId }: ScoredRun, metric: EnabledMetric, body: TriedRecords): Promise<TryOutPage> {
      const query = await recordQuery(deps, projectId, metric.kinds, body, body.sort ? [body.sort.column_id] : []);
      const sort = body.sort && { column: sortableColumn(query, body.sort.column_id), ascending: body.sort.ascending };
      const { keys, total } = await findKeys(deps.records, {
        ...query,
        ...(sort ? { sort } : {}),
        offset: body.pagination?.starting_token ?? body.starting_token ?? 0,
        limit: body.pagination?.limit ?? body.limit ?? MAX_SAMPLES,
        ...(body.previous_last_row_id ? { after: body.previous_last_row_id } : {}),
      });
      const sources = keys.map(
        ({ id, type }): TryOutSource => ({ type, id, runId, read: () => deps.recordToScore(query.run, id, metric) }),
      );
      return { sources, matching: total };
    },
    /** @throws ServiceError `NotFound` for a dataset that the caller may not see */
    mayRead: (caller: Caller, datasetId: string) => deps.assets.require(caller, 'dataset', datasetId, 'read'),
    /** Returns rows of a dataset that the caller may read. @throws ServiceError `NotFound` for a version that does not exist */
    async rows(metric: EnabledMetric, body: TriedRows): Promise<TryOutPage> {
      const version = await foundVersion(deps.datasets, body.dataset_id, body.dataset_version_index ?? undefined);
      const from = body.starting_token ?? 0;
      const to = from + (body.limit ?? MAX_SAMPLES);
      const rows = (await rowStore.range(body.dataset_id, version.versionIndex, from, to)).map(toExperimentRow);
      const sources = rows.map(
        (row): TryOutSource => ({ type: 'dataset_row', id: row.rowId, runId: null, read: async () => rowToScore(metric, row) }),
      );
      return { sources, matching: version.numRows };
    },
    /** A question and its answer. */
    text(metric: EnabledMetric, { input, output }: { input: string; output: string }): TryOutSource {
      return { type: 'text', id: null, runId: null, read: async () => textToScore('text', metric, { input, output }) };
    },
  };
}

/** A question and its answer, as a record of a kind that the metric takes. */
function textToScore(
  name: string,
  { kinds }: EnabledMetric,
  { input, output }: { input: string; output: string | null },
): RecordToScore {
  const kind = kinds.includes('trace') ? 'trace' : (kinds[0] ?? 'trace');
  return {
    ...{
      id: '',
      createdAt: '',
      version: 0,
      kind,
      traceId: null,
      sessionId: '',
      failed: false,
      rowOrdinal: null,
      name,
      modalities: [],
    },
    record: {
      ...{ kind, name, input, output, datasetInput: null, datasetOutput: null, metadata: {}, durationNs: null },
      ...{ inputTokens: null, outputTokens: null, totalTokens: null, errorMessage: null, model: null },
    },
  };
}

function rowToScore(metric: EnabledMetric, row: SourceRow): RecordToScore {
  const target = textToScore(`row ${row.ordinal + 1}`, metric, { input: row.input, output: row.generatedOutput ?? row.expected });
  const ofRow = { datasetInput: row.input, datasetOutput: row.expected, datasetMetadata: row.metadata };
  return { ...target, record: { ...target.record, ...ofRow, rowValues: row.variables, isRow: true } };
}
