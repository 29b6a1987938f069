import type { Domain } from '../../shared/assemble.ts';
import { FollowedStates } from '../../shared/concurrency/followedStates.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { withoutExpired } from '../../shared/projects/retention.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import type { RunState } from '../../shared/records/liveRecords.ts';
import { namedScorers } from '../../shared/scorers/namedScorers.ts';
import { scorersSeenBy } from '../../shared/scorers/scorersSeenBy.ts';
import { clickhouseColumnValues } from '../../shared/stores/clickhouse/reads/columnValues.ts';
import { clickhouseMetricTimeline } from '../../shared/stores/clickhouse/reads/metricTimeline.ts';
import { clickhouseHistogram } from '../../shared/stores/clickhouse/reads/recordHistogram.ts';
import { clickhouseRecordStream } from '../../shared/stores/clickhouse/reads/recordStream.ts';
import { clickhouseRunState } from '../../shared/stores/clickhouse/reads/runState.ts';
import { clickhouseTraceGraph } from '../../shared/stores/clickhouse/reads/traceGraph.ts';
import type { AccountGate } from '../callers/authenticate.ts';
import type { BodyBounds } from '../http/bodyBounds.ts';
import type { Endpoint } from '../http/route.ts';
import type { Following } from '../http/serverSentEvents.ts';
import { scoringJobDeps } from '../records/scoringDeps.ts';
import { annotationExportRoutes } from '../routes/annotationExports.ts';
import { annotationQueueRoutes } from '../routes/annotationQueues.ts';
import { annotationRatingRoutes } from '../routes/annotationRatings.ts';
import { annotationRecordRoutes } from '../routes/annotationRecords.ts';
import { annotationTemplateRoutes } from '../routes/annotationTemplates.ts';
import { columnValueRoutes } from '../routes/columnValues.ts';
import { exportRecordRoutes } from '../routes/exportRecords.ts';
import { ingestCounterRoutes } from '../routes/ingestCounters.ts';
import { liveRecordRoutes } from '../routes/liveRecords.ts';
import { metricSearchRoutes } from '../routes/metricSearch.ts';
import { metricsTestingRoutes } from '../routes/metricsTesting.ts';
import { openTelemetryRoutes } from '../routes/openTelemetry.ts';
import { recomputeMetricsRoutes } from '../routes/recomputeMetrics.ts';
import { recordColumnRoutes } from '../routes/recordColumns.ts';
import { recordHistogramRoutes } from '../routes/recordHistogram.ts';
import { recordSearchRoutes } from '../routes/recordSearch.ts';
import { sessionRoutes } from '../routes/sessions.ts';
import { spanRoutes } from '../routes/spans.ts';
import { traceGraphRoutes } from '../routes/traceGraph.ts';
import { traceRoutes } from '../routes/traces.ts';

/** Records: logged, searched, exported, annotated, and scored anew. */
export function recordEndpoints(domain: Domain, gate: AccountGate, bodies: BodyBounds, following: Following): Endpoint[] {
  const { accounts, assets, annotations, annotationStore, expiries, projects, records, scorers, stores } = domain;
  const { writer, reading, deletion, heldUpdates } = records;
  const { findRun, ingestRun } = projects;
  const { clickhouse } = stores;
  const stream = clickhouseRecordStream(clickhouse);
  const search = { records: records.reads, findRun: projects.findUnexpiredRun, metrics: scorers.definitions };
  // An update changes, and a deletion takes, also what no read shows any more.
  const recordDeps = { ...search, findRun, ingestRun, writer, emptySessions: records.emptySessions, reading, deletion };
  const authorizeProject: Parameters<typeof annotationRecordRoutes>[0]['authorizeProject'] = (caller, action, projectId) =>
    gate.authorize(caller, { project: action }, projectId);
  const queues = { annotations: annotationStore, newId };
  const queueRecords = { ...search, ...queues, stream, unexpired: (run: RunRef) => withoutExpired(run, expiries) };
  const stateOf = clickhouseRunState(clickhouse);
  const live = new FollowedStates({
    streams: following.streams,
    nameOf: ({ projectId, runId }: RunRef) => `${projectId} ${runId}`,
    read: async (run, before: RunState | undefined) => stateOf(await withoutExpired(run, expiries), before),
    log: domain.log,
  });
  return [
    ...traceRoutes(recordDeps),
    ...spanRoutes(recordDeps),
    ...ingestCounterRoutes({ writer, bodies: bodies.memory, heldUpdates: heldUpdates.usage }),
    ...openTelemetryRoutes({
      writer,
      emptySessions: records.emptySessions,
      stubTraces: records.stubTraces,
      projects: projects.projects,
      logStreams: projects.logStreams,
      findRun,
      nameOf: projects.runs.nameOf,
      visible: projects.access.visible,
      noteTarget: gate.noteTarget,
      firstLog: projects.firstLog,
      authorizeProject,
    }),
    ...sessionRoutes(recordDeps),
    ...recordSearchRoutes(search),
    ...recordHistogramRoutes({ ...search, histogram: clickhouseHistogram(clickhouse) }),
    ...columnValueRoutes({ ...search, columnValues: clickhouseColumnValues(clickhouse) }),
    ...recordColumnRoutes(search),
    ...liveRecordRoutes({ findRun, live, gate, stopping: following.stopping }),
    ...traceGraphRoutes({ ...search, graph: clickhouseTraceGraph(clickhouse) }),
    ...metricsTestingRoutes({
      ...search,
      namedScorers: (caller, names) => namedScorers(scorersSeenBy(scorers.store, assets, caller), names),
      assets,
      scorers: scorers.store,
      stream,
    }),
    ...annotationQueueRoutes(queues),
    ...annotationTemplateRoutes(queues),
    ...annotationRecordRoutes({ ...queueRecords, authorizeProject, forget: annotations.forget }),
    ...annotationExportRoutes({ ...queueRecords, accounts: accounts.accounts, now: () => new Date() }),
    ...annotationRatingRoutes(queues),
    ...exportRecordRoutes({ ...search, stream }),
    ...metricSearchRoutes({ ...search, timelines: clickhouseMetricTimeline(clickhouse) }),
    ...recomputeMetricsRoutes(scoringJobDeps(domain)),
  ];
}
