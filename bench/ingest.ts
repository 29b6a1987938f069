import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { Agent, fetch } from 'undici';
import { newId } from '../shared/ids.ts';
import { RECORDS_PER_TRACE, SPANS_PER_TRACE, traceMaker } from './payload.ts';

/**
 * Ingest through HTTP of nested spans of 2 to 3 KB, 8 a trace: spans a second, and the CPU time of the service per span beside that of the
 * fastest raw insert of the same rows (batches of 10,000, nothing but the engine and its bytes). Service, raw insert and load generator are
 * processes of their own; each one's CPU time counts until its background merges are done.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      spans: { type: 'string', default: '100000' },
      'traces-per-request': { type: 'string', default: '64' },
      connections: { type: 'string', default: '8' },
    },
  });
  const tracesPerRequest = Number(values['traces-per-request']);
  const requests = Math.ceil(Number(values.spans) / SPANS_PER_TRACE / tracesPerRequest);
  const connections = Number(values.connections);
  const folder = await mkdtemp(join(tmpdir(), 'assay-bench-'));
  try {
    const ours = await ingest(join(folder, 'service'), { requests, tracesPerRequest, connections });
    const raw = await rawInsert(join(folder, 'raw'), requests * tracesPerRequest * RECORDS_PER_TRACE);
    console.log(`spans                          ${ours.spans} in ${requests} requests, ${connections} connections`);
    console.log(`bytes per span                 ${ours.bytesPerSpan.toFixed(0)}`);
    console.log(`spans/s                        ${ours.spansPerSecond.toFixed(0)}`);
    console.log(`request p50, p95               ${ours.p50Ms.toFixed(0)} ms, ${ours.p95Ms.toFixed(0)} ms`);
    console.log(`service CPU per span           ${ours.cpuUs.toFixed(1)} µs`);
    console.log(
      `raw insert CPU per record      ${raw.cpuUs.toFixed(1)} µs (${raw.rows} rows of ${raw.bytesPerRow.toFixed(0)} bytes)`,
    );
    console.log(
      `ratio                          ${(ours.cpuUsPerRecord / raw.cpuUs).toFixed(2)} (CPU per record: ${ours.cpuUsPerRecord.toFixed(1)} µs over ${raw.cpuUs.toFixed(1)} µs)`,
    );
    console.log(`service memory, highest        ${(ours.peakRssBytes / 2 ** 20).toFixed(0)} MiB`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Load {
  requests: number;
  tracesPerRequest: number;
  connections: number;
}

async function ingest(dataDir: string, { requests, tracesPerRequest, connections }: Load) {
  const service = await startChild('../test/support/ingestProcess.ts', dataDir);
  const [projectId, runId] = [newId(), newId()];
  const makeTrace = traceMaker(7);
  let made = 0;
  const body = () => {
    const traces = Array.from({ length: tracesPerRequest }, () => makeTrace(new Date(Date.UTC(2026, 0, 1) + 1000 * made++)));
    return Buffer.from(JSON.stringify({ log_stream_id: runId, traces }));
  };
  const agent = new Agent({ connections });
  const post = async (bytes: Buffer) => {
    const start = performance.now();
    const answer = await fetch(`http://127.0.0.1:${service.ready.port}/v2/projects/${projectId}/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: bytes,
      dispatcher: agent,
    });
    if (answer.status !== 200) throw new Error(`ingest answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
    return performance.now() - start;
  };
  try {
    // Made first: a connection that is idle for seconds may be closed while it is used again.
    const warmUp = Array.from({ length: 20 }, body);
    const bodies = Array.from({ length: requests }, body);
    for (const first of warmUp) await post(first); // pays for compiled code
    const bytes = bodies.reduce((sum, one) => sum + one.length, 0);
    const cpuBefore = cpuSeconds(service.pid);
    const start = performance.now();
    const latencies: number[] = [];
    const lane = async () => {
      for (let next = bodies.pop(); next; next = bodies.pop()) latencies.push(await post(next));
    };
    await Promise.all(Array.from({ length: connections }, lane));
    const seconds = (performance.now() - start) / 1000;
    await untilIdle(service.pid);
    const cpu = (cpuSeconds(service.pid) - cpuBefore) * 1e6;
    const traces = requests * tracesPerRequest;
    const spans = traces * SPANS_PER_TRACE;
    latencies.sort((a, b) => a - b);
    return {
      spans,
      bytesPerSpan: bytes / spans,
      spansPerSecond: spans / seconds,
      cpuUs: cpu / spans,
      cpuUsPerRecord: cpu / (spans + traces),
      p50Ms: latencies[Math.floor(latencies.length * 0.5)] ?? 0,
      p95Ms: latencies[Math.floor(latencies.length * 0.95)] ?? 0,
      peakRssBytes: Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) * 1024,
    };
  } finally {
    await agent.close();
    await service.stop();
  }
}

async function rawInsert(dataDir: string, rows: number) {
  const child = await startChild('./rawInsert.ts', dataDir, String(rows));
  try {
    return child.ready as unknown as { rows: number; cpuUs: number; bytesPerRow: number };
  } finally {
    await child.stop();
  }
}

/** Starts a script of this folder; it prints one line of JSON when it is ready. */
async function startChild(script: string, ...args: string[]) {
  const child = spawn(process.execPath, [new URL(script, import.meta.url).pathname, ...args], {
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

// Linux counts in ticks of 10 ms; 100,000 spans take some hundred of them.
const TICKS_PER_SECOND = 100;

/** User and system time of a process with all its threads. */
function cpuSeconds(pid: number): number {
  // The name in brackets may hold spaces; utime and stime are the 12th and 13th field after it.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Waits until the process has used less than a twentieth of a core for half a second. */
async function untilIdle(pid: number): Promise<void> {
  for (let before = cpuSeconds(pid), used = 1; used > 0.025; ) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    used = cpuSeconds(pid) - before;
    before += used;
  }
}
