import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ServiceClient } from '../../client/http.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { gzipBomb } from './gzipBomb.ts';
import type { ServiceProcess } from './serviceProcess.ts';

const MEGABYTE = 1_000_000;
const DRIPPING_CONNECTIONS = 100;
/** Bytes of such a body that are sent at once. */
const DRIPPED_AT_ONCE = 4 * MEGABYTE;
const HALF_OPEN_CONNECTIONS = 1_500;
const BIG_TRACE_BYTES = MEGABYTE;
const ANSWER_BYTES = 64 * 1024 * 1024;
/** After this a request is given up: it holds nothing of the service any more. */
const REQUEST_MS = 30_000;

/** A caller with a project of their own, and no part in any other. */
export interface Neighbour {
  url: string;
  apiKey: string;
  project: string;
  stream: string;
}

const clientOf = ({ url, apiKey }: Neighbour): ServiceClient => new ServiceClient({ apiUrl: url, apiKey });

/** How much of it is done. */
export interface Scale {
  /** Traces of 1 MB that are logged beforehand. */
  bigTraces: number;
}

/** Goes on until the signal. @returns the statuses of what was answered; 0 for a connection that was closed without an answer */
export type Deed = (signal: AbortSignal) => Promise<number[]>;

/** Something that one caller does to a service. */
export interface WorstThing {
  name: string;
  /** Makes what must be there before it begins. @returns what does it until a signal aborts */
  prepare(caller: Neighbour, scale: Scale): Deed | Promise<Deed>;
}

/** Settings of the service, and folders with modules that loop or eat memory. */
export async function neighbourSettings(folder: string): Promise<Record<string, string>> {
  const [runners, handlers] = [join(folder, 'runners'), join(folder, 'handlers')];
  await Promise.all([mkdir(runners, { recursive: true }), mkdir(handlers, { recursive: true })]);
  await Promise.all([
    writeFile(
      join(runners, 'bad.mjs'),
      `export default (input) => {
        if (input === 'loops') for (;;);
        const eaten = [];
        for (;;) eaten.push(new Array(1e5).fill(Math.random()));
      };`,
    ),
    writeFile(
      join(handlers, 'bad.mjs'),
      `import { CustomHandler } from 'assay/handler';
      export class Loops extends CustomHandler { async complete() { for (;;); } }`,
    ),
  ]);
  return { RUNNERS_DIR: runners, HANDLERS_DIR: handlers };
}

let neighbours = 0;
/** A new account of the role `user`, with a project, a log stream and a key; there is a model for it whose handler loops. */
export async function newNeighbour(service: ServiceProcess, name: string): Promise<Neighbour> {
  const administrator = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const [email, password] = [`${name}-${++neighbours}-${Date.now()}@example.com`, 'Some-Password-1'];
  await administrator.send('/users', { body: { email, password, role: 'user' } });
  await administrator.send('/integrations/custom/loops', {
    method: 'PUT',
    body: {
      ...{ endpoint: 'http://127.0.0.1:1', authentication_type: 'none', models: ['loops'] },
      custom_llm_config: { file_name: 'bad.mjs', class_name: 'Loops' },
    },
  });
  const login = await fetch(`${service.url}/login`, { method: 'POST', body: new URLSearchParams({ username: email, password }) });
  const { access_token } = (await login.json()) as { access_token: string };
  const made = await fetch(`${service.url}/users/api_keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ description: name }),
  });
  const { api_key: apiKey } = (await made.json()) as { api_key: string };
  const client = new ServiceClient({ apiUrl: service.url, apiKey });
  const { id: project } = await client.send<{ id: string }>('/projects', { body: { name: `${name} ${newId()}` } });
  const { id: stream } = await client.send<{ id: string }>(`/projects/${project}/log_streams`, { body: { name: 'logs' } });
  return { url: service.url, apiKey, project, stream };
}

interface Sent {
  body: string | Buffer | FormData;
  headers?: Record<string, string>;
}

/** One request, with the status of its answer once the answer has been read; 0 when there is none. */
async function request({ url, apiKey }: Neighbour, path: string, { headers, ...more }: RequestInit = {}): Promise<number> {
  try {
    const response = await fetch(`${url}${path}`, {
      headers: { 'Service-API-Key': apiKey, ...headers },
      ...more,
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    for await (const _ of response.body ?? []);
    return response.status;
  } catch {
    return 0;
  }
}

function post(caller: Neighbour, path: string, { body, headers }: Sent): Promise<number> {
  const typed = body instanceof FormData ? {} : { 'content-type': 'application/json' };
  return request(caller, path, { method: 'POST', headers: { ...typed, ...headers }, body });
}

const packing = { 'content-encoding': 'gzip' };
const packed = (text: string): Sent => ({ body: gzipSync(text), headers: packing });

/** Each of the loops sends one request after the other until the signal, and waits for the last answer. */
async function loops(count: number, signal: AbortSignal, send: () => Promise<number>): Promise<number[]> {
  const statuses: number[] = [];
  const loop = async () => {
    while (!signal.aborted) {
      const status = await send();
      statuses.push(status);
      if (status === 0) await pause(100);
    }
  };
  await Promise.all(Array.from({ length: count }, loop));
  return statuses;
}

/** A dataset upload as one gzip body. */
function packedUpload(file: string): Sent {
  const boundary = 'a-boundary';
  const part = (head: string, text: string) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const form = `${part('name="name"', newId())}${part('name="file"; filename="rows.csv"', file)}--${boundary}--\r\n`;
  const { body, headers } = packed(form);
  return { body, headers: { ...headers, 'content-type': `multipart/form-data; boundary=${boundary}` } };
}

/** Connections to the service. All are closed at the end of `use`. */
async function withConnections<T>({ url }: Neighbour, count: number, use: (sockets: Socket[]) => Promise<T>): Promise<T> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname).on('error', () => undefined));
  try {
    return await use(sockets);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** The first status that each connection was answered, of those that were. */
function statusesOf(sockets: readonly Socket[]): number[] {
  const statuses: number[] = [];
  for (const socket of sockets)
    socket.once('data', (chunk) => {
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1')) ?? [];
      if (status) statuses.push(Number(status));
    });
  return statuses;
}

/** Starts a run of these rows, and watches it until the signal. The run is cancelled then. */
async function runRows(caller: Neighbour, run: Record<string, unknown>, signal: AbortSignal): Promise<number[]> {
  const path = `/projects/${caller.project}/experiments`;
  const { id } = await clientOf(caller).send<{ id: string }>(path, { body: { name: `bad ${newId()}` } });
  const statuses = [await post(caller, `${path}/${id}/run`, { body: JSON.stringify(run) })];
  await untilAborted(signal);
  await post(caller, `${path}/${id}/cancel`, { body: '{}' });
  return statuses;
}

/** Answers every request with 64 MiB of JSON. */
async function bigAnswers(): Promise<{ url: string; server: Server }> {
  const text = Buffer.alloc(1024 * 1024, 'x');
  const server = createServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' });
    const parts = function* () {
      yield '{"output":"';
      for (let sent = 0; sent < ANSWER_BYTES; sent += text.length) yield text;
      yield '"}';
    };
    // The service hangs up when it has read enough.
    await pipeline(Readable.from(parts(), { objectMode: false }), response).catch(() => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** A prompt of the caller. @returns the id of its version */
async function promptVersion(caller: Neighbour): Promise<string> {
  const { selected_version_id } = await clientOf(caller).send<{ selected_version_id: string }>(
    `/projects/${caller.project}/templates`,
    {
      body: { name: `bad ${newId()}`, template: '{{input}}' },
    },
  );
  return selected_version_id;
}

const logged = (caller: Neighbour, traces: readonly object[]): Promise<unknown> =>
  clientOf(caller).send(`/projects/${caller.project}/traces`, { body: { log_stream_id: caller.stream, traces } });

/** The worst things that are known. Each is done by a caller who may do it; what is refused is refused for its size. */
export const worstThings: readonly WorstThing[] = [
  {
    name: 'render_template, 450 x {{x}}, fourteen inputs of 1 MB',
    prepare(caller) {
      const input_strings = Array.from({ length: 14 }, () => JSON.stringify({ x: 'x'.repeat(MEGABYTE) }));
      const request = packed(JSON.stringify({ template: '{{x}}'.repeat(450), data: { input_strings } }));
      return (signal) => loops(1, signal, () => post(caller, '/v2/render_template', request));
    },
  },
  {
    name: 'a dataset of 10,000,000 rows in 20 kB of gzip',
    prepare(caller) {
      const request = packedUpload('1\n'.repeat(10 * MEGABYTE));
      return (signal) => loops(1, signal, () => post(caller, '/v2/datasets', request));
    },
  },
  {
    name: 'a dataset of 100,000 columns',
    prepare(caller) {
      const header = Array.from({ length: 100_000 }, (_, index) => `c${index}`).join(',');
      const request = packedUpload(`${header}\n${'1,'.repeat(99_999)}1\n`);
      return (signal) => loops(1, signal, () => post(caller, '/v2/datasets', request));
    },
  },
  {
    name: 'bodies of 60 MB that drip on 100 connections',
    prepare: (caller) => (signal) =>
      withConnections(caller, DRIPPING_CONNECTIONS, async (sockets) => {
        const statuses = statusesOf(sockets);
        const paths = [`/v2/projects/${caller.project}/traces`, '/v2/datasets', `/v2/projects/${caller.project}/spans`];
        const beginning = ' '.repeat(DRIPPED_AT_ONCE);
        for (const [index, socket] of sockets.entries()) {
          // Every other one without credentials.
          const key = index % 2 === 0 ? `Service-API-Key: ${caller.apiKey}\r\n` : '';
          const type = index % 3 === 1 ? 'multipart/form-data; boundary=x' : 'application/json';
          const head = `Content-Type: ${type}\r\nContent-Length: ${60 * MEGABYTE}`;
          socket.write(`POST ${paths[index % 3]} HTTP/1.1\r\nHost: x\r\n${key}${head}\r\n\r\n${beginning}`);
        }
        while (!signal.aborted) {
          for (const socket of sockets) if (socket.writable) socket.write(' ');
          await pause(500);
        }
        return statuses;
      }),
  },
  {
    name: 'filter_tree of 900 equal leaves on a derived column, two loops',
    async prepare(caller) {
      const traces = Array.from({ length: 500 }, () => ({ input: 'i', spans: [{ type: 'tool', input: 'i' }] }));
      for (let part = 0; part < 20; part++) await logged(caller, traces);
      const filter = { type: 'boolean', column_id: 'has_children', operator: 'eq', value: true };
      const filter_tree = { or: Array.from({ length: 900 }, () => ({ filter })) };
      const body = JSON.stringify({ log_stream_id: caller.stream, filter_tree });
      return (signal) => loops(2, signal, () => post(caller, `/v2/projects/${caller.project}/traces/search`, { body }));
    },
  },
  {
    name: 'contains of 10,000 values, and pages of 1,000 traces of 1 MB',
    async prepare(caller, { bigTraces }) {
      const big = { name: 'big', input: 'a word '.repeat(BIG_TRACE_BYTES / 7) };
      for (let left = bigTraces; left > 0; left -= 10)
        await logged(
          caller,
          Array.from({ length: Math.min(left, 10) }, () => big),
        );
      const values = Array.from({ length: 10_000 }, (_, index) => `value ${index}`);
      const ids = { type: 'id', column_id: 'id', operator: 'contains', value: values };
      const questions: [string, object][] = [
        ['count', { filters: [{ type: 'text', column_id: 'input', operator: 'contains', value: values }] }],
        ['count', { filters: [ids, ids, ids] }],
        ['search', { filters: [{ type: 'text', column_id: 'name', operator: 'eq', value: 'big' }], limit: 1_000 }],
      ];
      return async (signal) => {
        const each = questions.map(([what, question]) => {
          const body = JSON.stringify({ log_stream_id: caller.stream, ...question });
          return loops(1, signal, () => post(caller, `/v2/projects/${caller.project}/traces/${what}`, { body }));
        });
        return (await Promise.all(each)).flat();
      };
    },
  },
  {
    name: 'available_columns of 50,000 metric names',
    async prepare(caller) {
      for (let part = 0; part < 100; part++) {
        const named = (first: number) =>
          Object.fromEntries(Array.from({ length: 100 }, (_, own) => [`metric_${first + own}`, 1]));
        await logged(
          caller,
          Array.from({ length: 5 }, (_, index) => ({ input: 'i', metrics: named(part * 500 + index * 100) })),
        );
      }
      const body = JSON.stringify({ log_stream_id: caller.stream });
      const path = `/v2/projects/${caller.project}/traces/available_columns`;
      return (signal) => loops(2, signal, () => post(caller, path, { body }));
    },
  },
  {
    name: 'a URL that answers 60 rows with 64 MiB each',
    async prepare(caller) {
      const { url, server } = await bigAnswers();
      const records = Array.from({ length: 60 }, () => ({ input: 'x' }));
      return async (signal) => {
        try {
          return await runRows(caller, { records, runner: { kind: 'http', url }, concurrency: 60 }, signal);
        } finally {
          server.closeAllConnections();
          server.close();
        }
      };
    },
  },
  {
    name: 'runner modules and a handler that loop or eat memory',
    async prepare(caller) {
      const prompt_template_version_id = await promptVersion(caller);
      const records = Array.from({ length: 20 }, (_, index) => ({ input: index % 2 === 0 ? 'loops' : 'eats' }));
      const runners = [
        { kind: 'module', name: 'bad' },
        { kind: 'prompt_template', prompt_template_version_id, prompt_settings: { model_alias: 'loops' } },
      ];
      return async (signal) =>
        (await Promise.all(runners.map((runner) => runRows(caller, { records, runner, concurrency: 10 }, signal)))).flat();
    },
  },
  {
    name: '1,500 half-open connections, and bodies of 1 GB in 1 MB of gzip',
    prepare(caller) {
      const bomb = { body: gzipBomb(1_000 * MEGABYTE), headers: packing };
      const path = `/v2/projects/${caller.project}/traces`;
      return (signal) =>
        withConnections(caller, HALF_OPEN_CONNECTIONS, async (sockets) => {
          const statuses = statusesOf(sockets);
          for (const socket of sockets) socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nX-Part: `);
          const bombs = await loops(4, signal, () => post(caller, path, bomb));
          return [...statuses, ...bombs];
        });
    },
  },
  {
    name: 'pages of 100 out of all datasets',
    prepare: (caller) => (signal) => loops(1, signal, () => request(caller, '/v2/datasets?limit=100')),
  },
  {
    name: 'questions about all datasets: a part of a name, an order by rows, the last page, how many',
    prepare: (caller) => async (signal) => {
      const filters = [{ name: 'name', operator: 'contains', value: 'no such part', case_sensitive: false }];
      const sort = { name: 'num_rows', ascending: true, sort_type: 'column' };
      const asked: [string, object][] = [
        ['query', { filters }],
        ['query', { sort }],
        ['query?limit=100&starting_token=19900', {}],
        ['query/count', { filters }],
      ];
      const all = asked.map(([path, body]) =>
        loops(1, signal, () => post(caller, `/v2/datasets/${path}`, { body: JSON.stringify(body) })),
      );
      return (await Promise.all(all)).flat();
    },
  },
];
