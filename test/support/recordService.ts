import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createApp } from '../../api/app.ts';
import { type BodyBounds, openBodyBounds } from '../../api/http/bodyBounds.ts';
import type { Gate } from '../../api/http/route.ts';
import type { RecordDeps } from '../../api/records/loggedRecords.ts';
import { ingestCounterRoutes } from '../../api/routes/ingestCounters.ts';
import { openTelemetryRoutes } from '../../api/routes/openTelemetry.ts';
import { recordSearchRoutes } from '../../api/routes/recordSearch.ts';
import { sessionRoutes } from '../../api/routes/sessions.ts';
import { spanRoutes } from '../../api/routes/spans.ts';
import { traceRoutes } from '../../api/routes/traces.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { createRunLookup } from '../../shared/projects/runs.ts';
import type { DeletionRequests } from '../../shared/records/delete.ts';
import { EmptySessions } from '../../shared/records/emptySessions.ts';
import { type Erasure, type ErasureNotes, recordErasure } from '../../shared/records/eraseRecords.ts';
import type { UpdateJournal } from '../../shared/records/notedUpdates.ts';
import { RecordWriter, type RecordWriterOptions } from '../../shared/records/recordWriter.ts';
import type { RecordReads } from '../../shared/records/searchRecords.ts';
import { StubTraces } from '../../shared/records/stubTraces.ts';
import type { ClickHouse } from '../../shared/stores/clickhouse/clickHouse.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { settledReads } from '../../shared/stores/clickhouse/embedded/settledReads.ts';
import { clickhouseRecordReader } from '../../shared/stores/clickhouse/reads/recordReader.ts';
import { clickHouseRecordReads } from '../../shared/stores/clickhouse/reads/recordReads.ts';
import { migrateTables } from '../../shared/stores/clickhouse/tables/tables.ts';
import { clickhouseMetricValues } from '../../shared/stores/clickhouse/writes/metricValues.ts';
import { clickhouseRecordEraser } from '../../shared/stores/clickhouse/writes/recordDeletion.ts';
import { clickhouseRecordStore } from '../../shared/stores/clickhouse/writes/recordStore.ts';
import { serve } from './http.ts';
import { noAnnotations } from './noAnnotations.ts';
import { noFiles } from './noFiles.ts';
import { waitingTracesInMemory } from './waitingTracesInMemory.ts';

/** Everybody may do everything in any project: who may is tested with the accounts. */
const openGate: Gate = {
  authenticate: async () => ({ userId: newId(), email: 'tester@example.com', role: 'admin' }),
  authorize: async (_caller, _access, projectId) =>
    projectId === undefined ? undefined : { id: projectId, name: 'Test project', role: 'owner' },
};

/** The record routes over a ClickHouse, without accounts: any project and run exist. */
export function recordApp(
  engine: ClickHouse,
  options: Partial<RecordWriterOptions> & { checkReplies?: boolean; bodies?: BodyBounds } = {},
) {
  const bodies = options.bodies ?? openBodyBounds();
  const isOnlyWriter = engine.isEmbedded && options.withLocks === undefined;
  const clickhouse = isOnlyWriter ? settledReads(engine, () => writer.unsettled) : engine;
  const reads: RecordReads = { ...clickHouseRecordReads(clickhouse), ...noAnnotations, ...noFiles };
  const eraser = clickhouseRecordEraser(engine);
  const { notes, requests } = notesInMemory();
  const erasure = recordErasure({ eraser, notes, onRecordsDeleted: [] });
  const writer: RecordWriter = new RecordWriter({
    store: clickhouseRecordStore(engine),
    guard: erasure.guard,
    erasures: erasure.underWay,
    ...(isOnlyWriter && { notes: { journal: updatesInMemory(), onLost } }),
    ...options,
  });
  const { find: findRun, nameOf } = createRunLookup({ runName: async () => 'a run' });
  const emptySessions = new EmptySessions({
    ...{ reads, eraser, erasure, writer, pauseMs: 0 },
    onError(err) {
      throw err;
    },
  });
  const deps: RecordDeps = {
    writer,
    emptySessions,
    records: reads,
    reading: { reader: clickhouseRecordReader(clickhouse), reads },
    deletion: {
      reads,
      eraser,
      erasure,
      requests,
      forgetHeldUpdates: async () => {},
      writer,
      onDeleted: () => {},
      now: () => new Date(),
    },
    findRun,
    ingestRun: findRun,
    metrics: { builtIn: [], alwaysListed: [], ofRun: async () => [], ofScorers: async () => [] },
  };
  const app = createApp({
    endpoints: [
      ...traceRoutes(deps),
      ...spanRoutes(deps),
      ...sessionRoutes(deps),
      ...recordSearchRoutes(deps),
      ...ingestCounterRoutes({
        writer,
        bodies: bodies.memory,
        // Without Postgres nothing is held.
        heldUpdates: async () => ({ updates: 0, updatesLimit: 0, bytes: 0, bytesLimit: 0 }),
      }),
      ...openTelemetryRoutes({
        writer,
        emptySessions,
        stubTraces: new StubTraces({
          ...{ writer, store: waitingTracesInMemory(), waitMs: 60_000 },
          onError(err) {
            throw err;
          },
        }),
        findRun,
        nameOf,
        visible: async () => undefined,
        noteTarget: () => undefined,
        // Projects and log streams are named by their ids here.
        projects: { find: async () => ({ items: [], hasMore: false }) },
        logStreams: { find: async () => ({ items: [], hasMore: false }) },
        firstLog: {
          refusal: () => 'nothing is made here',
          makeProject: () => Promise.reject(new Error('no project is made here')),
          makeLogStream: () => Promise.reject(new Error('no log stream is made here')),
        },
        authorizeProject: async () => undefined,
      }),
    ],
    gate: openGate,
    log: pino({ level: 'fatal' }),
    apiKeyHeaders: ['Service-API-Key'],
    checkReplies: options.checkReplies ?? true,
    bodies,
  });
  return { app, writer, clickhouse, deletion: deps.deletion };
}

/** No process comes after this one: what outlives one is tested over real stores. */
const updatesInMemory = (): UpdateJournal => ({ left: [], append() {}, cut: () => () => {} });

function onLost(err: unknown): never {
  throw err;
}

/** There is no Postgres here, so deletions are noted where a crash would lose them: what outlives one is tested over real stores. */
function notesInMemory(): { notes: ErasureNotes; requests: DeletionRequests } {
  const erasures = new Map<string, Erasure>();
  const notes: ErasureNotes = {
    async add(run, keys) {
      const erasure = { id: newId(), run, keys };
      erasures.set(erasure.id, erasure);
      return erasure;
    },
    remove: async (id) => void erasures.delete(id),
    get: async (id) => erasures.get(id),
    isNoted: async (id) => erasures.has(id),
    takesOneOf: async (run, ids) =>
      [...erasures.values()].some((one) => one.run.runId === run.runId && one.keys.some(({ id }) => ids.includes(id))),
    unfinished: async () => [...erasures.values()].map(({ run }) => run),
    noteLate: async () => {},
    runStates: async (runs) => {
      const asked = new Set(runs.map(({ runId }) => runId));
      const noted = [...erasures.values()].filter(({ run }) => asked.has(run.runId)).map(({ id, run }) => ({ id, ...run }));
      return { missing: [], erasures: noted, withHeldUpdates: [] };
    },
    noteOutdated: async () => [],
  };
  const requests: DeletionRequests = {
    add: async () => ({ id: newId(), at: '' }),
    attend: async () => '',
    remove: async () => {},
    takeUnattended: async () => [],
    freeAll: async () => {},
  };
  return { notes, requests };
}

/** The record routes over an embedded ClickHouse of their own. Each `space` is a project and a run that no other test uses. */
export async function startRecordService(options: Partial<RecordWriterOptions> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'assay-records-'));
  const engine = openClickHouse({ dataDir: directory });
  await migrateTables(engine);
  const { app, writer, clickhouse, deletion } = recordApp(engine, options);
  const http = await serve(app);

  return {
    clickhouse,
    writer,
    deletion,
    http,
    metricValues: clickhouseMetricValues(clickhouse),
    space() {
      const run = { projectId: newId(), runId: newId() };
      const at = `/projects/${run.projectId}`;
      const inRun = (json: object) => ({ json: { log_stream_id: run.runId, ...json } });
      return {
        run,
        post: (path: string, json: object) => http.request('POST', `${at}${path}`, inRun(json)),
        patch: (path: string, json: object) => http.request('PATCH', `${at}${path}`, inRun(json)),
        get: (path: string) => http.request('GET', `${at}${path}`),
        search: async (what: 'traces' | 'spans' | 'sessions', filters: object[] = []) =>
          (await http.request('POST', `${at}/${what}/search`, inRun({ filters, limit: 1000 }))).body.records,
      };
    },
    async [Symbol.asyncDispose]() {
      await http.close();
      await writer.unsettled.settle(() => true);
      await engine.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
