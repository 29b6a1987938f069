import type { Domain } from '../shared/assemble.ts';
import { RequestInvalid, ServiceError } from '../shared/errors.ts';
import { defaultRunSettings, isUnderWay } from '../shared/experiments/experiment.ts';
import { withoutExpired } from '../shared/projects/retention.ts';
import { findColumnFor } from '../shared/records/columnCatalog.ts';
import { thawMetric } from '../shared/scorers/frozenMetric.ts';
import { type EnabledMetric, resolveMetrics } from '../shared/scorers/resolveMetrics.ts';
import { scorersOfRun } from '../shared/scorers/runSettings.ts';
import { freezeMetrics, metricsOfWorkflow } from '../shared/scoring/frozenMetrics.ts';
import type { ScoredRun } from '../shared/scoring/scoring.ts';
import { clickhouseRecordStream } from '../shared/stores/clickhouse/recordStream.ts';
import { clickhouseRollUpReads } from '../shared/stores/clickhouse/rollUpReads.ts';
import { recordSizes, recordsToScore } from '../shared/stores/clickhouse/scoredRecords.ts';
import { type JudgedRun, judgeContext, judgedExperiment } from './judgeContext.ts';
import type { WorkerDeps } from './worker.ts';

/** What the scoring of runs needs, over the domain. */
export function assembleScoring(domain: Domain): WorkerDeps['scoring'] {
  const { experiments, expiries, log, records, scoring, stores, workflows } = domain;
  const { clickhouse } = stores;
  const { ledger } = experiments;
  const { store: scorers, frozen, definitions } = domain.scorers;
  const { marks, scorings } = scoring;
  const freezing = {
    frozen,
    async judgeModel(wanted: string | null): Promise<string | null> {
      try {
        const { integration, model } = await domain.models.resolveModel(wanted);
        return `${integration.name}/${model.alias}`;
      } catch (err) {
        if (err instanceof ServiceError && err.permanent) return wanted;
        throw err;
      }
    },
  };
  const judged = async (run: ScoredRun): Promise<JudgedRun> => {
    const experiment = run.kind === 'experiment' ? await ledger.find(run.runId) : undefined;
    return experiment ? judgedExperiment(experiment) : judgedRun(run);
  };

  return {
    scorings,
    ledger,
    workflows,
    rows: experiments.rows,
    log,
    write: (run, values) => records.values.write(run, values),
    recordSizes: (run, ids, withSpans) => recordSizes(clickhouse, run, ids, withSpans),
    rollUpReads: clickhouseRollUpReads(clickhouse),
    marking: {
      marks,
      stream: clickhouseRecordStream(clickhouse),
      // The columns were accepted with the request; a metric may have lost its values since, or not have any yet.
      findColumn: (run, { filter, sort }) =>
        findColumnFor(records.reads, definitions, run, { filter, alsoNamed: sort ? [sort.columnId] : [], takesUnvalued: true }),
      write: (run, values) => records.values.write(run, values),
      unexpired: (run) => withoutExpired(run, expiries),
    },
    records: (run, ids, withSpans) => recordsToScore(clickhouse, run, ids, withSpans),
    metricsOf: (run, scorerIds) => scorersOfRun(scorers, run.projectId, run.runId, scorerIds),
    async markedMetric(run, { scorerId, scorerVersion }) {
      const found = scorerVersion === '' ? undefined : await frozen.find(run.runId, scorerVersion);
      if (found) return thawMetric(found);
      return (await scorersOfRun(scorers, run.projectId, run.runId, [scorerId]))[0] as EnabledMetric;
    },
    freeze: async (run, metrics) => freezeMetrics(freezing, run.runId, metrics, (await judged(run)).modelAlias),
    frozen: (run) =>
      metricsOfWorkflow({ ...freezing, enabled: domain.scorers.enabledMetrics }, run, judgedExperiment(run).modelAlias),
    looked: (run, lookedTo) => frozen.looked(run.experimentId, run.workflowNumber, lookedTo),
    async enabled({ projectId, runId }) {
      const settings = await scorers.runSettings(projectId, runId);
      const metrics: EnabledMetric[] = [];
      for (const config of settings?.scorers ?? []) {
        try {
          metrics.push(...(await resolveMetrics(scorers, [config])));
        } catch (err) {
          if (!(err instanceof RequestInvalid)) throw err;
          log.warn({ runId, scorerId: config.id, reason: err.message }, 'a metric of a log stream cannot be computed');
        }
      }
      return { metrics, segments: settings?.segmentFilters ?? [] };
    },
    judged,
    contextFor: (run, metric, signal, stopping) => judgeContext(domain, run, metric, signal, stopping),
    async aggregate({ runId }) {
      const run = await ledger.find(runId);
      // One that goes on sums up its values when it ends.
      if (run && !isUnderWay(run.state)) await ledger.setAggregates(runId, await experiments.settle(run));
    },
  };
}

const judgedRun = ({ projectId, runId, createdBy }: ScoredRun): JudgedRun => ({
  projectId,
  runId,
  userId: createdBy,
  jobId: `scoring/${runId}`,
  modelAlias: null,
  maxCallAttempts: defaultRunSettings.maxCallAttempts,
  limits: undefined,
});
