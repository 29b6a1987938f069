import type { Caller } from '../../shared/accounts/permissions.ts';
import { RequestInvalid, ServiceError } from '../../shared/errors/errors.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { findKeys } from '../../shared/records/searchRecords.ts';
import type { EnabledMetric, ScorerReference } from '../../shared/scorers/resolveMetrics.ts';
import type { ScorerStore } from '../../shared/scorers/scorer.ts';
import { type RequestScoringDeps, requestScoring } from '../../shared/scoring/requestScoring.ts';
import type { ScoredRun, ScoringStore } from '../../shared/scoring/scoring.ts';
import type { ColumnFilter } from '../../shared/wire/filters.ts';
import type { CreateJobRequest } from '../../shared/wire/jobs.ts';
import type { RecordKind } from '../../shared/wire/recordKinds.ts';
import { type RecordSearchDeps, recordQuery } from './recordQuery.ts';

export interface ScoringJobDeps extends RecordSearchDeps, RequestScoringDeps {
  scorings: RequestScoringDeps['scorings'] & Pick<ScoringStore, 'findRun'>;
  scorers: Pick<ScorerStore, 'runSettings'>;
  /** @throws RequestInvalid for a scorer that the run may not use, ServiceError `Conflict` for a name of several. */
  named(caller: Caller, run: RunRef, scorers: readonly ScorerReference[]): Promise<EnabledMetric[]>;
  /** @throws RequestInvalid for a scorer that is unknown, deleted, not the caller's to see, or whose judge there is not. */
  metricsOf(caller: Caller, run: RunRef, scorerIds: readonly string[]): Promise<EnabledMetric[]>;
}

const invalid = (key: string, msg: string): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', key], msg, type: 'value_error' }]);

/**
 * Has stored records of a run scored, as recomputing metrics does: of the traces that the request names, or all; of sessions alone where it says so. Segment
 * filters choose a share of them for this once.
 * @returns the job of the first metric, and how many records match
 * @throws RequestInvalid for unknown scorers, or none; ServiceError `RunNotFound`
 */
export async function startScoringJob(
  deps: ScoringJobDeps,
  caller: Caller,
  request: CreateJobRequest,
): Promise<{ run: ScoredRun; jobIds: string[]; records: number }> {
  const { project_id: projectId, run_id: runId, trace_ids: traceIds, is_session, segment_filters: segments } = request;
  const run = await deps.scorings.findRun(runId);
  if (run?.projectId !== projectId) throw new ServiceError('RunNotFound', `no run with the id ${runId} in this project`);
  const all = await metricsOf(deps, caller, run, request);
  const ofSessions = all.filter(({ kinds }) => kinds.includes('session'));
  const metrics = is_session ? ofSessions : all;
  if (metrics.length === 0) throw invalid('is_session', 'none of these scorers looks at sessions');
  const kinds: readonly RecordKind[] = is_session ? ['session'] : [...new Set(metrics.flatMap((metric) => metric.kinds))];
  const query = await recordQuery(deps, projectId, kinds, { [`${run.kind}_id`]: runId });
  const filter = traceIds.length === 0 ? query.filter : await filterOf(deps, query, traceIds, is_session === true);
  const records = await deps.records.count({ ...query, filter });
  const selection = { filter, ...(is_session ? { kinds } : {}), ...(segments ? { segments } : {}) };
  return { run, records, jobIds: await requestScoring(deps, run, metrics, selection, caller.userId) };
}

/** The metrics that a request names; those that are switched on for the run where it names none. */
async function metricsOf(deps: ScoringJobDeps, caller: Caller, run: RunRef, request: CreateJobRequest): Promise<EnabledMetric[]> {
  const olderName = request.prompt_scorer_settings?.scorer_name;
  const named = [
    ...(request.scorers ?? []),
    ...(request.scorer_config ? [request.scorer_config] : []),
    ...(typeof olderName === 'string' && olderName.trim() !== '' ? [{ name: olderName.trim() }] : []),
  ];
  const configs = named.length > 0 ? named : ((await deps.scorers.runSettings(run.projectId, run.runId))?.scorers ?? []);
  if (configs.length === 0) throw invalid('scorers', 'name the scorers: none is switched on for this run');
  const scorers = await deps.named(caller, run, configs);
  return deps.metricsOf(
    caller,
    run,
    scorers.map(({ scorerId }) => scorerId),
  );
}

const oneOf = (column_id: string, value: readonly string[]): ColumnFilter => ({
  filter: { type: 'id', column_id, operator: 'one_of', value: [...value] },
});

/** Takes the records of these traces, or the sessions that they are in. */
async function filterOf(
  { records }: Pick<ScoringJobDeps, 'records'>,
  query: Awaited<ReturnType<typeof recordQuery>>,
  traceIds: readonly string[],
  areSessions: boolean,
): Promise<ColumnFilter> {
  if (!areSessions) return { or: [oneOf('id', traceIds), oneOf('trace_id', traceIds)] };
  const traces = { ...query, kinds: ['trace' as const], filter: oneOf('id', traceIds), offset: 0, limit: traceIds.length };
  const { keys } = await findKeys(records, traces);
  const found = await records.records(query.run, keys, ['session_id']);
  return oneOf(
    'id',
    found.flatMap(({ session_id }) => session_id ?? []),
  );
}
