import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, fetch } from 'undici';
import { ServiceClient } from '../client/http.ts';
import { newId } from '../shared/identifiers/ids.ts';
import { serviceFolder } from '../test/support/serviceProcess.ts';
import { untilIdle } from './cpu.ts';
import { ownJson, type Target } from './ingestForms.ts';
import { SPANS_PER_TRACE, traceMaker } from './payload.ts';

/** A reply's number of reads that its request has sent to the embedded engine (`statements.process.ts`). */
export const STATEMENTS_HEADER = 'x-bench-statements';

/** Words that are in the input of one trace of a hundred each. */
export const NEEDLES = Array.from({ length: 10 }, (_, position) => `zq${'abcdefghij'[position]}needle`);
export const MODELS = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'o3-mini', 'claude-3-5-sonnet', 'gemini-2.0-flash'];
const DAYS = 7;
const TRACES_PER_REQUEST = 64;
const LIVE_TRACES = 5;
const LIVE_EVERY_MS = 250;

/** The whole embedded service as a process of its own, with a log stream to ask. */
export interface LiveService extends AsyncDisposable {
  url: string;
  apiKey: string;
  target: Target;
  pid: number;
  /** @returns the parsed reply, its time in ms until it was read, and the reads that it took */
  send(method: 'POST' | 'PATCH', path: string, body: unknown): Promise<{ reply: unknown; ms: number; statements: number }>;
  /** Logs traces of the week before today; an answer means that they are stored. @returns their ids */
  fill(spans: number): Promise<string[]>;
  /** Logs 5 new traces of this moment every 0.25 s, by a connection of their own, while `work` is done. */
  whileTracesArrive<T>(work: () => Promise<T>): Promise<{ result: T; spans: number; refused: number }>;
}

export async function startLiveService(): Promise<LiveService> {
  const folder = await mkdtemp(join(tmpdir(), 'assay-bench-live-'));
  const preload = join(import.meta.dirname, 'statements.process.ts');
  const service = await (await serviceFolder(join(folder, 'data'), { NODE_OPTIONS: `--import ${preload}` })).start();
  const agent = new Agent({ connections: 16 });
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'bench' } });
  const streams = `/projects/${projectId}/log_streams`;
  const { id: runId } = await client.send<{ id: string }>(streams, { body: { name: 'live' } });
  const target = { projectId, runId };
  const makeTrace = liveTraces();
  const headers = { 'content-type': 'application/json', 'Service-API-Key': service.apiKey };

  const post = async (method: string, path: string, body: string | Buffer) => {
    const begun = performance.now();
    const answer = await fetch(`${service.url}${path}`, { method, headers, body, dispatcher: agent });
    const text = await answer.text();
    const ms = performance.now() - begun;
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 300)}`);
    return { reply: JSON.parse(text) as unknown, ms, statements: Number(answer.headers.get(STATEMENTS_HEADER)) };
  };
  const logTraces = (traces: Record<string, unknown>[]) => post('POST', ownJson.path(target), ownJson.body(target, traces));

  return {
    url: service.url,
    apiKey: service.apiKey,
    target,
    pid: service.child.pid as number,
    send: (method, path, body) => post(method, `/v2/projects/${projectId}${path}`, JSON.stringify(body)),
    async fill(spans) {
      const traces = Math.ceil(spans / SPANS_PER_TRACE);
      const end = new Date().setUTCHours(0, 0, 0, 0);
      const ids: string[] = [];
      const lane = async () => {
        while (ids.length < traces) {
          const some = Array.from({ length: Math.min(TRACES_PER_REQUEST, traces - ids.length) }, (_, position) =>
            makeTrace(new Date(end - ((traces - ids.length - position) * DAYS * 86_400_000) / traces)),
          );
          ids.push(...some.map(({ id }) => String(id)));
          await logTraces(some);
        }
      };
      await Promise.all(Array.from({ length: 4 }, lane));
      await untilIdle(service.child.pid as number);
      return ids;
    },
    async whileTracesArrive(work) {
      let [spans, refused, isDone] = [0, 0, false];
      const arriving = (async () => {
        for (let due = performance.now(); !isDone; ) {
          const traces = Array.from({ length: LIVE_TRACES }, (_, position) => makeTrace(new Date(Date.now() - 1_000 * position)));
          await logTraces(traces).then(
            () => {
              spans += LIVE_TRACES * SPANS_PER_TRACE;
            },
            () => {
              refused++;
            },
          );
          due += LIVE_EVERY_MS;
          await sleep(Math.max(0, due - performance.now()));
        }
      })();
      try {
        await sleep(2_000);
        return { result: await work(), spans, refused };
      } finally {
        isDone = true;
        await arriving;
      }
    },
    async [Symbol.asyncDispose]() {
      await agent.close();
      await service.kill('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Traces of `traceMaker` of which 5 % failed, with the needles in their inputs. */
function liveTraces(): (at: Date) => Record<string, unknown> {
  const make = traceMaker(11);
  let made = 0;
  return (at) => {
    const n = made++;
    const needle = n % 10 === 3 ? ` ${NEEDLES[Math.floor(n / 10) % NEEDLES.length]}` : '';
    const trace = make(at);
    return { ...trace, id: newId(), input: `${trace.input}${needle}`, status_code: n % 20 === 7 ? 500 : 200 };
  };
}
