import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, fetch } from 'undici';
import { ServiceClient } from '../client/http.ts';
import { Logger } from '../client/logger.ts';
import { embeddedSettings } from '../shared/childProcesses/nodeSettings.ts';
import { newId } from '../shared/identifiers/ids.ts';
import { percentile } from '../shared/statistics/percentile.ts';
import { serviceFolder } from '../test/support/serviceProcess.ts';
import { cpuSeconds, untilIdle } from './cpu.ts';
import { type Form, otlp, ownJson } from './ingestForms.ts';
import { RECORDS_PER_TRACE, SPANS_PER_TRACE, traceMaker } from './payload.ts';

/**
 * Ingest through HTTP of nested spans of 2 to 3 KB, 8 a trace, as JSON of our own and as OTLP in protobuf: spans a second until all are acknowledged
 * and a search counts them all, and the CPU time of the service per record beside that of the fastest raw insert of the same rows (batches of
 * 10,000, nothing but the engine and its bytes). Service, raw insert and load generator are processes of their own; each one's CPU time counts until
 * its background merges are done. The raw insert is measured before and after each way, since machines that others share change their speed, and
 * the mean of both counts; once more at the end as the service does it, with text indexes left to the first merge. Then the time in which small
 * traces that an application logs through the client library can be seen. `--data FOLDER`: the service holds what `search --data` put there already.
 * `--raw-records N` inserts so many rows raw instead of as many as were logged; `--forms json` leaves the other way out. Requests beyond the first
 * 5,000 do not fit in memory: they are made while others are on their way, and take the service that part of the machine.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      spans: { type: 'string', default: '100000' },
      'traces-per-request': { type: 'string', default: '64' },
      connections: { type: 'string', default: '8' },
      'small-traces': { type: 'string', default: '10000' },
      'raw-records': { type: 'string' },
      forms: { type: 'string', default: 'json,otlp' },
      data: { type: 'string' },
    },
  });
  const tracesPerRequest = Number(values['traces-per-request']);
  const requests = Math.ceil(Number(values.spans) / SPANS_PER_TRACE / tracesPerRequest);
  const load = { requests, tracesPerRequest, connections: Number(values.connections) };
  const rawRecords = Number(values['raw-records'] ?? requests * tracesPerRequest * RECORDS_PER_TRACE);
  const forms = [ownJson, otlp].filter(({ name }) => values.forms.split(',').includes(name));
  const folder = await mkdtemp(join(tmpdir(), 'assay-bench-'));
  try {
    const measureRaw = async (place: string, textIndexes: 'at once' | 'late' = 'at once'): Promise<number> => {
      const raw = await rawInsert(join(folder, `raw ${place}`), rawRecords, textIndexes);
      print(`raw insert, ${place}`, [
        ['CPU per record', `${raw.cpuUs.toFixed(1)} µs (${raw.rows} rows of ${raw.bytesPerRow.toFixed(0)} bytes)`],
      ]);
      return raw.cpuUs;
    };
    let before = await measureRaw('first');
    for (const form of forms) {
      const ours = await ingest(values.data ?? join(folder, form.name), form, load);
      const after = await measureRaw(`after ${form.title}`);
      const rawUs = (before + after) / 2;
      before = after;
      print(form.title, [
        ['spans', `${ours.spans} in ${requests} requests, ${load.connections} connections`],
        ['bytes per span', ours.bytesPerSpan.toFixed(0)],
        ['spans/s until searchable', `${ours.spansPerSecond.toFixed(0)} (${ours.searchMs.toFixed(0)} ms after the last answer)`],
        ['request p50, p95', `${ours.p50Ms.toFixed(0)} ms, ${ours.p95Ms.toFixed(0)} ms`],
        ['service CPU per span', `${ours.cpuUs.toFixed(1)} µs`],
        ['CPU over raw insert', `${(ours.cpuUsPerRecord / rawUs).toFixed(2)} (${ours.cpuUsPerRecord.toFixed(1)} µs a record)`],
        ['service memory, highest', `${(ours.peakRssBytes / 2 ** 20).toFixed(0)} MiB`],
      ]);
    }
    await measureRaw('text indexes left to merges', 'late');
    const small = Number(values['small-traces']);
    const { seconds, loggedSeconds } = await smallTraces(join(folder, 'whole'), small);
    print('client library', [
      [`${small} small traces`, `logged and visible in ${seconds.toFixed(2)} s (${loggedSeconds.toFixed(2)} s until flushed)`],
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function print(title: string, lines: [name: string, value: string][]): void {
  console.log(title);
  for (const [name, value] of lines) console.log(`  ${name.padEnd(26)} ${value}`);
}

interface Load {
  requests: number;
  tracesPerRequest: number;
  connections: number;
}

const WARM_UP = 20;
const MAX_MADE_FIRST = 5_000;

async function ingest(dataDir: string, form: Form, { requests, tracesPerRequest, connections }: Load) {
  const service = await startChild('../test/support/ingestProcess.ts', dataDir);
  const target = { projectId: newId(), runId: newId() };
  const makeTrace = traceMaker(7);
  let made = 0;
  const body = () =>
    form.body(
      target,
      Array.from({ length: tracesPerRequest }, () => makeTrace(new Date(Date.UTC(2026, 0, 1) + 1000 * made++))),
    );
  const url = `http://127.0.0.1:${service.ready.port}`;
  const agent = new Agent({ connections });
  const post = async (bytes: Buffer) => {
    const start = performance.now();
    const headers = form.headers(target);
    const answer = await fetch(`${url}${form.path(target)}`, { method: 'POST', headers, body: bytes, dispatcher: agent });
    if (answer.status !== 200) throw new Error(`ingest answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
    return performance.now() - start;
  };
  const found = async () => {
    const answer = await fetch(`${url}/v2/projects/${target.projectId}/spans/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ log_stream_id: target.runId, limit: 50 }),
      dispatcher: agent,
    });
    return ((await answer.json()) as { num_rows: number }).num_rows;
  };
  try {
    // Made first: a connection that is idle for seconds may be closed while it is used again.
    const warmUp = Array.from({ length: WARM_UP }, body);
    const bodies = Array.from({ length: Math.min(requests, MAX_MADE_FIRST) }, body);
    let toMake = requests - bodies.length;
    const nextBody = () => bodies.pop() ?? (toMake-- > 0 ? body() : undefined);
    for (const first of warmUp) await post(first); // pays for compiled code
    await found();
    const cpuBefore = cpuSeconds(service.pid);
    const start = performance.now();
    const latencies: number[] = [];
    let bytes = 0;
    const lane = async () => {
      for (let next = nextBody(); next; next = nextBody()) {
        bytes += next.length;
        latencies.push(await post(next));
      }
    };
    await Promise.all(Array.from({ length: connections }, lane));
    const answered = performance.now();
    const spans = requests * tracesPerRequest * SPANS_PER_TRACE;
    await until(found, spans + WARM_UP * tracesPerRequest * SPANS_PER_TRACE);
    const seconds = (performance.now() - start) / 1000;
    const searchMs = performance.now() - answered;
    await untilIdle(service.pid);
    const cpu = (cpuSeconds(service.pid) - cpuBefore) * 1e6;
    latencies.sort((a, b) => a - b);
    return {
      spans,
      bytesPerSpan: bytes / spans,
      spansPerSecond: spans / seconds,
      searchMs,
      cpuUs: cpu / spans,
      cpuUsPerRecord: cpu / (requests * tracesPerRequest * RECORDS_PER_TRACE),
      p50Ms: percentile(latencies, 0.5),
      p95Ms: percentile(latencies, 0.95),
      peakRssBytes: Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) * 1024,
    };
  } finally {
    await agent.close();
    await service.stop();
  }
}

/** Small traces through the client library into the whole service: from the first one logged until a search counts them all. */
async function smallTraces(dataDir: string, count: number) {
  const service = await (await serviceFolder(dataDir)).start();
  try {
    const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
    const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'bench' } });
    const { id: logStreamId } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, {
      body: { name: 'small' },
    });
    const found = async () => {
      const body = { log_stream_id: logStreamId, limit: 50 };
      return (await client.send<{ num_rows: number }>(`/projects/${projectId}/traces/search`, { body })).num_rows;
    };
    const logger = new Logger({ client, projectId, logStreamId });
    const logSome = async (traces: number) => {
      for (let index = 0; index < traces; index++) {
        const trace = logger.startTrace(`question ${index}`, { name: 'small', tags: ['bench'] });
        trace.addLlmSpan({ input: `question ${index}`, output: `answer ${index}`, model: 'gpt-4o-mini' });
        trace.conclude(`answer ${index}`);
        if (index % 100 === 99) await sleep(0); // an application lets its event loop go round
      }
      await logger.flush();
    };
    await logSome(1_000); // pays for compiled code
    await until(found, 1_000);
    const start = performance.now();
    await logSome(count);
    const loggedSeconds = (performance.now() - start) / 1000;
    await until(found, 1_000 + count);
    return { seconds: (performance.now() - start) / 1000, loggedSeconds };
  } finally {
    await service.kill('SIGTERM');
  }
}

/** Asks until so many are found. */
async function until(found: () => Promise<number>, wanted: number): Promise<void> {
  for (let now = await found(); now !== wanted; now = await found()) {
    if (now > wanted) throw new Error(`${now} found where ${wanted} were stored`);
    await sleep(10);
  }
}

async function rawInsert(dataDir: string, rows: number, textIndexes: string) {
  const child = await startChild('./rawInsert.ts', dataDir, String(rows), textIndexes);
  try {
    return child.ready as unknown as { rows: number; cpuUs: number; bytesPerRow: number };
  } finally {
    await child.stop();
  }
}

/** Starts a script of this folder; it prints one line of JSON when it is ready. */
async function startChild(script: string, ...args: string[]) {
  const child = spawn(process.execPath, [...embeddedSettings.flags, new URL(script, import.meta.url).pathname, ...args], {
    env: { ...process.env, ...embeddedSettings.environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  return {
    pid: child.pid as number,
    ready: JSON.parse(line) as { port: number },
    async stop() {
      const gone = child.exitCode === null ? once(child, 'exit') : undefined;
      child.kill('SIGKILL');
      await gone;
    },
  };
}
