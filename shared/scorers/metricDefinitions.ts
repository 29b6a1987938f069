import { builtinMetrics } from '../metrics/index.ts';
import { metricColumn } from '../metrics/metricColumn.ts';
import { toxicity } from '../metrics/toxicity.ts';
import type { MetricDefinitions } from '../records/columnCatalog.ts';
import { enabledMetricColumns } from './runSettings.ts';
import type { ScorerStore } from './scorer.ts';

/** What is known of metrics without their values: those built in, and those that users defined or switched on. */
export const metricDefinitions = (scorers: ScorerStore): MetricDefinitions => ({
  builtIn: builtinMetrics.map(metricColumn),
  alwaysListed: [metricColumn(toxicity)],
  ofRun: (run) => enabledMetricColumns(scorers, run.projectId, run.runId),
});
