import type { Router } from 'express';
import type { Domain } from '../../shared/assemble.ts';
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
  { accounts, annotations, comparisons, experimentStore, experiments, projects, records, scorers }: Domain,
  around: { gate: Gate; clients: ClientAddresses; pace: BodyPace; temporal: TemporalPagesPlace },
): Router {
  const { gate, clients, pace, temporal } = around;
  return pages({
    gate,
    clients,
    pace,
    credentials: accounts.credentials,
    experiments: experimentStore,
    progressOf: experiments.progressOf,
    countRecords: projects.runCounts,
    ratingsOfRuns: annotations.ratingsOfRuns,
    findScorers: scorers.store.findEver,
    records: { records: records.reads, findRun: projects.findUnexpiredRun, metrics: scorers.definitions },
    metricColumns: scorers.metricColumns,
    findRun: experiments.ledger.find.bind(experiments.ledger),
    progress: experiments.progress,
    compare: comparisons.compare,
    temporalLink: (workflowId) =>
      temporal.url === undefined
        ? undefined
        : `${temporal.url}/namespaces/${encodeURIComponent(temporal.namespace)}/workflows/${encodeURIComponent(workflowId)}`,
  });
}
