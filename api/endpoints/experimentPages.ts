import type { Router } from 'express';
import type { Domain } from '../../shared/assemble.ts';
import { progressFractions } from '../../shared/experiments/progress.ts';
import { projectMetricColumns } from '../../shared/scorers/runSettings.ts';
import { runTallies } from '../../shared/stores/clickhouse/experimentRecords.ts';
import { clickhouseRunCounts } from '../../shared/stores/clickhouse/runCounts.ts';
import type { ClientAddresses } from '../clientAddress.ts';
import { pages } from '../pages/pages.ts';
import type { BodyPace } from '../readBody.ts';
import type { Gate } from '../route.ts';

/** Where Temporal's own pages are. */
export interface TemporalPagesPlace {
  url: string | undefined;
  namespace: string;
}

/** The pages of experiments and their login. */
export function experimentPages(
  { accounts, annotations, comparisons, experimentStore, experiments, expiries, projects, records, scorers, stores }: Domain,
  around: { gate: Gate; clients: ClientAddresses; pace: BodyPace; temporal: TemporalPagesPlace },
): Router {
  const { gate, clients, pace, temporal } = around;
  return pages({
    gate,
    clients,
    pace,
    credentials: accounts.credentials,
    experiments: experimentStore,
    progressOf: progressFractions({
      metricIds: experimentStore.metricIds,
      tallies: (runs, metricIds) => runTallies(stores.clickhouse, runs, metricIds),
    }),
    countRecords: clickhouseRunCounts(stores.clickhouse, expiries.of),
    ratingsOfRuns: annotations.ratingsOfRuns,
    records: { records: records.reads, findRun: projects.findUnexpiredRun, metrics: scorers.definitions },
    metricColumns: (projectId) => projectMetricColumns(scorers.store, projectId),
    findRun: experiments.ledger.find.bind(experiments.ledger),
    progress: experiments.progress,
    compare: comparisons.compare,
    temporalLink: (workflowId) =>
      temporal.url === undefined
        ? undefined
        : `${temporal.url}/namespaces/${encodeURIComponent(temporal.namespace)}/workflows/${encodeURIComponent(workflowId)}`,
  });
}
