import type { ColumnDef } from '../columns/columnDef.ts';
import { metricColumn } from '../metrics/metricColumn.ts';
import { toxicity } from '../metrics/toxicity.ts';
import type { MetricDefinitions } from '../records/columnCatalog.ts';
import type { DefaultJudgeStore } from './defaultJudge.ts';
import { type FrozenMetricStore, thawMetric } from './frozenMetric.ts';
import { labelOf } from './listScorers.ts';
import { builtinColumns } from './presets.ts';
import type { EnabledMetric } from './resolveMetrics.ts';
import { enabledMetricColumns, projectMetricColumns, runScorers, scorerColumns } from './runSettings.ts';
import type { ScorerStore } from './scorer.ts';

interface ExperimentRef {
  projectId: string;
  experimentId: string;
}

export interface Scorers {
  store: ScorerStore;
  frozen: FrozenMetricStore;
  definitions: MetricDefinitions;
  defaultJudges: DefaultJudgeStore;
  /** The model that judges where a metric of the project names none. */
  defaultJudge(projectId: string): Promise<string | null>;
  /** Columns of the metrics that any run of the project computes. */
  metricColumns(projectId: string): Promise<ColumnDef[]>;
  /** The metrics that an experiment's settings name, as they are now. */
  enabledMetrics(run: ExperimentRef): Promise<EnabledMetric[]>;
  /** The metrics that the values of an experiment were made by; of one that never ran, those of its settings beside them. */
  scoredMetrics(run: ExperimentRef): Promise<EnabledMetric[]>;
  /** Names of the metrics that the newest workflow of an experiment computes, or will. */
  metricNames(run: ExperimentRef & { workflowNumber: number }): Promise<string[]>;
}

/** Scorers, and which metrics runs compute with them. */
export function openScorers(store: ScorerStore, frozen: FrozenMetricStore, defaultJudges: DefaultJudgeStore): Scorers {
  const enabledMetrics = (run: ExperimentRef) => runScorers(store, run.projectId, run.experimentId);
  return {
    store,
    frozen,
    definitions: metricDefinitions(store),
    defaultJudges,
    defaultJudge: async (projectId) => (await defaultJudges.get(projectId))?.model ?? null,
    metricColumns: (projectId) => projectMetricColumns(store, projectId),
    enabledMetrics,
    async scoredMetrics(run) {
      const hasRun = (await frozen.ofRun(run.experimentId)) !== undefined;
      const made = await withCurrentNames(store, (await frozen.newest(run.experimentId)).map(thawMetric));
      if (hasRun) return made;
      const others = (await enabledMetrics(run)).filter(({ scorerId }) => !made.some((one) => one.scorerId === scorerId));
      return [...made, ...others];
    },
    async metricNames(run) {
      const ofRun = await frozen.ofRun(run.experimentId);
      const metrics = ofRun?.number === run.workflowNumber ? ofRun.metrics.map(thawMetric) : await enabledMetrics(run);
      return metrics.map(({ name }) => name);
    },
  };
}

/** Reads the columns of metrics without their values: those built in, and those that users defined or switched on. */
const metricDefinitions = (scorers: ScorerStore): MetricDefinitions => ({
  builtIn: builtinColumns,
  alwaysListed: [metricColumn(toxicity)],
  ofRun: (run) => enabledMetricColumns(scorers, run.projectId, run.runId),
  ofScorers: (ids) => scorerColumns(scorers, ids),
});

/** A frozen metric has the name that its scorer had then; people know it by the one of now. */
async function withCurrentNames(store: ScorerStore, metrics: readonly EnabledMetric[]): Promise<EnabledMetric[]> {
  const ids = metrics.flatMap(({ definedBy, scorerId }) => (definedBy ? [scorerId] : []));
  const named = new Map((ids.length > 0 ? await store.findEver(ids) : []).map((scorer) => [scorer.id, scorer]));
  return metrics.map((metric) => {
    const scorer = metric.definedBy && named.get(metric.scorerId);
    return scorer ? { ...metric, alias: scorer.name, label: labelOf(scorer) } : metric;
  });
}
