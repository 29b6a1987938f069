import type { ColumnDef } from '../columns/columnDef.ts';
import { ServiceError } from '../errors/errors.ts';
import { metricColumn } from '../metrics/metricColumn.ts';
import type { SegmentFilter } from '../wire/scorers.ts';
import {
  asInvalid,
  type EnabledMetric,
  fromScorer,
  type RefusedMetric,
  resolvableMetrics,
  resolveMetrics,
  type ScorerLookup,
  type ScorerReference,
} from './resolveMetrics.ts';
import type { RunScorerSettings, ScorerStore } from './scorer.ts';
import { usableScorers } from './usableScorers.ts';

type SettingsStore = ScorerLookup & Pick<ScorerStore, 'runSettings' | 'saveRunSettings' | 'runExists' | 'projectScorers'>;
type RunKind = 'log_stream' | 'experiment';

const anyRun: readonly RunKind[] = ['log_stream', 'experiment'];

/**
 * The metrics switched on for a run; none for a run without settings.
 * @throws ServiceError `RunNotFound`
 */
export async function readRunSettings(
  store: SettingsStore,
  projectId: string,
  runId: string,
  kinds = anyRun,
): Promise<RunScorerSettings> {
  await mustExist(store, projectId, runId, kinds);
  return (await store.runSettings(projectId, runId)) ?? { scorers: [], segmentFilters: null };
}

/**
 * Switches metrics on for a run: a list that is given replaces the run's, one that is absent leaves it. What is stored says of each metric how
 * the run computes it, so that a later change of the scorer's own settings does not change the run. Clients of the interface take an error here for an
 * answer, and would go on without any metric: one that cannot be computed is left out and said beside those that are set.
 * @throws RequestInvalid where none of the scorers can be computed, ServiceError `RunNotFound`
 */
export async function saveRunSettings(
  store: SettingsStore,
  projectId: string,
  runId: string,
  given: { scorers?: readonly ScorerReference[] | null | undefined; segmentFilters?: SegmentFilter[] | null | undefined },
  kinds = anyRun,
): Promise<RunScorerSettings & { notSet: RefusedMetric[] }> {
  await mustExist(store, projectId, runId, kinds);
  const found = given.scorers && (await resolvableMetrics(await scorersOf(store, projectId, runId), given.scorers));
  if (found && found.metrics.length === 0 && found.refused.length > 0) throw asInvalid(found.refused, ['body', 'scorers']);
  const saved = await store.saveRunSettings(projectId, runId, {
    ...(found ? { scorers: found.metrics.map((metric) => metric.config) } : {}),
    ...(given.segmentFilters ? { segmentFilters: given.segmentFilters } : {}),
  });
  return { ...saved, notSet: found?.refused ?? [] };
}

/**
 * Metrics that are to be switched on for a run.
 * @throws RequestInvalid for an unknown scorer, and for one that the run does not have and that is deleted or limited to other projects
 */
export const metricsForRun = async (
  store: SettingsStore,
  projectId: string,
  runId: string,
  scorers: readonly ScorerReference[],
): Promise<EnabledMetric[]> => resolveMetrics(await scorersOf(store, projectId, runId), scorers);

/** The scorers that a run may take, with those that it has. */
async function scorersOf(store: SettingsStore, projectId: string, runId: string): Promise<ScorerLookup> {
  const settings = await store.runSettings(projectId, runId);
  return usableScorers(store, [projectId], new Set(settings?.scorers.map((config) => config.id)));
}

async function mustExist(store: SettingsStore, projectId: string, runId: string, kinds: readonly RunKind[]): Promise<void> {
  if (await store.runExists(projectId, runId, kinds)) return;
  throw new ServiceError('RunNotFound', `no ${kinds.join(' or ').replaceAll('_', ' ')} with the id ${runId} in this project`);
}

/** The metrics that a run computes, ready to score: what an experiment's plan and its scoring step work from. */
export async function runScorers(store: SettingsStore, projectId: string, runId: string): Promise<EnabledMetric[]> {
  const settings = await store.runSettings(projectId, runId);
  return resolveMetrics(store, settings?.scorers ?? []);
}

/**
 * Metrics by the ids of their scorers, each as the run computes it where it is switched on there, else as the scorer has it.
 * @throws RequestInvalid for an unknown scorer, and for one that the run does not have and that is deleted or limited to other projects
 */
export async function scorersOfRun(
  store: SettingsStore,
  projectId: string,
  runId: string,
  scorerIds: readonly string[],
): Promise<EnabledMetric[]> {
  const settings = await store.runSettings(projectId, runId);
  const ofRun = new Map(settings?.scorers.map((config) => [config.id, config]));
  return resolveMetrics(
    await scorersOf(store, projectId, runId),
    // The type of one that is not switched on here is read from the scorer itself.
    scorerIds.map((id) => ofRun.get(id) ?? { id, scorer_type: 'preset' }),
    ['body', 'scorer_ids'],
    settings?.scorers,
  );
}

/** Columns of the metrics that a run computes. */
export const enabledMetricColumns = async (store: SettingsStore, projectId: string, runId: string): Promise<ColumnDef[]> =>
  columnsOf(await runScorers(store, projectId, runId));

/** Columns of the metrics that any run of the project computes: those of lists over experiments. */
export const projectMetricColumns = async (store: SettingsStore, projectId: string): Promise<ColumnDef[]> =>
  columnsOf(await resolveMetrics(store, await store.projectScorers(projectId)));

/** Columns of the metrics that users defined with these scorers, deleted ones included; ids of no scorer, and scorers that nothing computes, are left out. */
export async function scorerColumns(store: ScorerLookup, scorerIds: readonly string[]): Promise<ColumnDef[]> {
  const found = scorerIds.length > 0 ? await store.findEver(scorerIds) : [];
  return found.flatMap((scorer) => {
    const metric = fromScorer(scorer, scorer.defaultVersion, { id: scorer.id, scorer_type: scorer.scorerType });
    return 'problem' in metric ? [] : [{ ...metricColumn(metric), scorerId: scorer.id }];
  });
}

const columnsOf = (metrics: readonly EnabledMetric[]): ColumnDef[] =>
  metrics.map((metric) => ({ ...metricColumn(metric), scorerId: metric.scorerId, scorerConfig: metric.config }));
