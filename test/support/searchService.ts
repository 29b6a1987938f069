import { pino } from 'pino';
import { createApp } from '../../api/app.ts';
import type { Gate } from '../../api/http/route.ts';
import { columnValueRoutes } from '../../api/routes/columnValues.ts';
import { exportRecordRoutes } from '../../api/routes/exportRecords.ts';
import { metricSearchRoutes } from '../../api/routes/metricSearch.ts';
import { recordColumnRoutes } from '../../api/routes/recordColumns.ts';
import { recordHistogramRoutes } from '../../api/routes/recordHistogram.ts';
import { recordSearchRoutes } from '../../api/routes/recordSearch.ts';
import { traceGraphRoutes } from '../../api/routes/traceGraph.ts';
import type { Caller } from '../../shared/accounts/permissions.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { builtinMetrics } from '../../shared/metrics/index.ts';
import { metricColumn } from '../../shared/metrics/metricColumn.ts';
import { toxicity } from '../../shared/metrics/toxicity.ts';
import { createRunLookup } from '../../shared/projects/runs.ts';
import type { StoredRecord } from '../../shared/records/record.ts';
import { clickhouseColumnValues } from '../../shared/stores/clickhouse/reads/columnValues.ts';
import { clickhouseMetricTimeline } from '../../shared/stores/clickhouse/reads/metricTimeline.ts';
import { clickhouseHistogram } from '../../shared/stores/clickhouse/reads/recordHistogram.ts';
import { clickhouseRecordStream } from '../../shared/stores/clickhouse/reads/recordStream.ts';
import { clickhouseTraceGraph } from '../../shared/stores/clickhouse/reads/traceGraph.ts';
import { type Answer, serve } from './http.ts';
import { noAnnotations } from './noAnnotations.ts';
import { noFiles } from './noFiles.ts';
import { openRecordTables } from './recordRun.ts';

/** The search and catalog routes over the record tables, for one log stream of one project. Every reply is checked against its schema. */
export async function startSearchService() {
  const tables = await openRecordTables();
  const projectId = newId();
  const runId = newId();
  const caller: Caller = { userId: newId(), email: 'ada@example.com', role: 'user' };
  const gate: Gate = {
    authenticate: async () => caller,
    authorize: async () => ({ id: projectId, name: 'a project', role: 'owner' }),
  };
  const runs = createRunLookup({
    runName: async (project, _kind, id) => (project === projectId && id === runId ? 'a run' : undefined),
  });
  const metrics = {
    builtIn: builtinMetrics.map(metricColumn),
    alwaysListed: [metricColumn(toxicity)],
    ofRun: async () => [],
    ofScorers: async () => [],
  };
  const timelines = clickhouseMetricTimeline(tables.clickhouse);
  const stream = clickhouseRecordStream(tables.clickhouse);
  const deps = {
    records: { ...tables.reads, ...noAnnotations, ...noFiles },
    findRun: runs.find,
    metrics,
    timelines,
    columnValues: clickhouseColumnValues(tables.clickhouse),
    histogram: clickhouseHistogram(tables.clickhouse),
    stream,
    graph: clickhouseTraceGraph(tables.clickhouse),
  };
  const http = await serve(
    createApp({
      endpoints: [
        ...recordSearchRoutes(deps),
        ...recordHistogramRoutes(deps),
        ...columnValueRoutes(deps),
        ...recordColumnRoutes(deps),
        ...metricSearchRoutes(deps),
        ...exportRecordRoutes(deps),
        ...traceGraphRoutes(deps),
      ],
      gate,
      log: pino({ level: 'silent' }),
      apiKeyHeaders: ['Service-API-Key'],
      checkReplies: true,
    }),
  );
  return {
    ...tables,
    url: http.url,
    projectId,
    runId,
    /** A record of the run with what every record must have; `more` says the rest. */
    record(more: Partial<StoredRecord> = {}): StoredRecord {
      const id = more.id ?? newId();
      return {
        ...{ project_id: projectId, run_id: runId, id, type: 'trace', created_at: '2026-03-01T12:00:00.000001Z', version: 1 },
        ...{ session_id: id, trace_id: more.type === 'session' ? null : id },
        ...more,
      };
    },
    /** POST to a route of the project; names the run unless the body does. */
    post(route: string, body: object = {}): Promise<Answer> {
      return http.request('POST', `/v2/projects/${projectId}/${route}`, { json: { log_stream_id: runId, ...body } });
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await http.close();
      await tables[Symbol.asyncDispose]();
    },
  };
}
