import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, fetch } from 'undici';
import { ServiceClient } from '../client/http.ts';
import { runExperiment } from '../client/runExperiment.ts';
import { percentile } from '../shared/statistics/percentile.ts';
import { serviceFolder } from '../test/support/serviceProcess.ts';
import { type Form, otlp, ownJson } from './ingestForms.ts';
import { SPANS_PER_TRACE, traceMaker } from './payload.ts';
import { type TreeMemory, treeMemory } from './treeMemory.ts';

const TRACES_PER_REQUEST = 8;
/** Every so many-th request of own JSON goes to the log stream whose traces are scored. */
const SCORED_EVERY = 5;
/** Every so many-th request of own JSON holds traces that are deleted later. */
const GONE_EVERY = 3;
const DELETE_EVERY_MS = 20_000;
const PAUSE_BETWEEN_SEARCHES_MS = 200;
const EXPERIMENT_ROWS = 500;
const PAUSE_BETWEEN_EXPERIMENTS_MS = 10_000;
/** A request that fails is sent again so often: what is counted at the end has been stored. */
const ATTEMPTS = 10;
const SETTLE_MS = 120_000;

/**
 * The whole embedded service under everything at once for `--minutes` (60): `--spans` a second (400) of nested spans as own JSON and as OTLP in
 * protobuf, searches and timelines, experiments of 500 rows one after the other, live scoring of a log stream, and deletions of a sixth of what is
 * logged. Prints a line every `--every` seconds (60): spans logged, memory of the process tree (PSS and RSS), p95 of requests of each kind since
 * the line before, and errors. At the end it counts what must be there, and what must be gone, and compares the memory of the second quarter with
 * that of the last one. Ends with 1 when a count is wrong or a request was answered by an error. `--data FOLDER` goes on with a folder that is
 * there, and keeps it.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '60' },
      spans: { type: 'string', default: '400' },
      every: { type: 'string', default: '60' },
      data: { type: 'string' },
    },
  });
  const folder = await mkdtemp(join(tmpdir(), 'assay-bench-'));
  try {
    const service = await (await serviceFolder(values.data ?? join(folder, 'data'))).start();
    try {
      const pid = service.child.pid as number;
      const soak = await openSoak(service, Number(values.spans));
      const samples = await soakFor(soak, pid, Number(values.minutes) * 60_000, Number(values.every) * 1_000);
      printMemory(samples);
      await check(soak);
      await sleep(60_000);
      print(`one minute later: ${mib(await treeMemory(pid))}`);
      if (soak.figures.errors.size > 0) process.exitCode = 1;
      for (const [error, times] of soak.figures.errors) print(`error, ${times} times: ${error}`);
    } finally {
      await service.kill('SIGTERM');
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Latencies since the last line, and errors since the start. */
class Figures {
  readonly errors = new Map<string, number>();
  #latencies = new Map<string, number[]>();

  async time<T>(name: string, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await work();
    } catch (err) {
      this.failed(name, err);
      throw err;
    } finally {
      const taken = this.#latencies.get(name) ?? [];
      taken.push(performance.now() - start);
      this.#latencies.set(name, taken);
    }
  }

  failed(name: string, err: unknown): void {
    const text = `${name}: ${err instanceof Error ? err.message : String(err)}`.slice(0, 300);
    this.errors.set(text, (this.errors.get(text) ?? 0) + 1);
  }

  /** p95 of each kind of request in milliseconds, and the slowest; starts anew. */
  takeLatencies(): string {
    const kinds = [...this.#latencies].sort(([a], [b]) => a.localeCompare(b));
    this.#latencies = new Map();
    return kinds
      .map(([name, taken]) => {
        const sorted = taken.toSorted((a, b) => a - b);
        return `${name} ${percentile(sorted, 0.95).toFixed(0)} (${(sorted.at(-1) ?? 0).toFixed(0)})`;
      })
      .join(', ');
  }
}

interface Soak {
  url: string;
  apiKey: string;
  client: ServiceClient;
  projectId: string;
  /** Log stream of most traces. */
  loggedId: string;
  /** Log stream whose traces are scored. */
  scoredId: string;
  figures: Figures;
  spansPerSecond: number;
  /** Acknowledged traces: those that stay, that are scored, and that are deleted, by their name. */
  kept: number;
  scored: number;
  gone: Map<string, number>;
  rows: number;
}

async function openSoak({ url, apiKey }: { url: string; apiKey: string }, spansPerSecond: number): Promise<Soak> {
  const figures = new Figures();
  // An answer that the client repeats is an error here all the same.
  const logger = { warn: (message: string) => figures.failed('repeated', message) };
  const client = new ServiceClient({ apiUrl: url, apiKey, logger });
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: `soak ${Date.now()}` } });
  const stream = async (name: string) =>
    (await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name } })).id;
  const [loggedId, scoredId] = [await stream('logged'), await stream('scored')];
  await client.send(`/projects/${projectId}/log_streams/${scoredId}/metric_settings`, {
    method: 'PATCH',
    body: { scorers: [await scorerOf(client, 'latency'), await scorerOf(client, 'json_validity')] },
  });
  const counted = { kept: 0, scored: 0, gone: new Map<string, number>(), rows: 0 };
  return { url, apiKey, client, projectId, loggedId, scoredId, figures, spansPerSecond, ...counted };
}

async function scorerOf(client: ServiceClient, name: string): Promise<unknown> {
  const filters = [{ name: 'name', operator: 'eq', value: name }];
  const { scorers } = await client.send<{ scorers: unknown[] }>('/scorers/list', { body: { filters } });
  return scorers[0];
}

async function soakFor(soak: Soak, pid: number, ms: number, everyMs: number): Promise<TreeMemory[]> {
  const ending = new AbortController();
  const { signal } = ending;
  const lanes = [ingest(soak, signal), search(soak, signal), remove(soak, signal), experiments(soak, signal)];
  // A lane that breaks ends the soak.
  const broken = Promise.all(lanes).then(() => undefined);
  const samples: TreeMemory[] = [];
  const started = performance.now();
  try {
    for (let next = everyMs; next <= ms; next += everyMs) {
      await Promise.race([broken, pause(started + next - performance.now(), signal)]);
      const memory = await treeMemory(pid);
      samples.push(memory);
      const spans = SPANS_PER_TRACE * (soak.kept + soak.scored + sumOf(soak.gone));
      const errors = sumOf(soak.figures.errors);
      print(
        `${(next / 60_000).toFixed(1)} min: ${spans} spans, ${soak.rows} rows; ${mib(memory)}; ` +
          `p95 (slowest) in ms: ${soak.figures.takeLatencies()}; ${errors} errors`,
      );
    }
  } finally {
    ending.abort();
    await broken;
  }
  return samples;
}

/** Sends traces at the rate that was asked for; a service that falls behind gets them later, two requests at a time at most. */
async function ingest(soak: Soak, signal: AbortSignal): Promise<void> {
  const makeTrace = traceMaker(Date.now() % 1_000);
  const agent = new Agent({ connections: 2 });
  const perRequestMs = (1_000 * TRACES_PER_REQUEST * SPANS_PER_TRACE) / soak.spansPerSecond;
  let sent = 0;
  const started = performance.now();
  const lane = async (form: Form): Promise<void> => {
    for (let index = 0; !signal.aborted; index++) {
      const ahead = started + perRequestMs * sent++ - performance.now();
      await pause(ahead, signal);
      if (signal.aborted) return;
      const isJson = form === ownJson;
      const isScored = isJson && index % SCORED_EVERY === 0;
      const isGone = isJson && !isScored && index % GONE_EVERY === 0;
      const name = isGone ? `gone ${Math.floor((performance.now() - started) / DELETE_EVERY_MS)}` : 'kept';
      const traces = Array.from({ length: TRACES_PER_REQUEST }, () => ({ ...makeTrace(new Date()), name }));
      const target = { projectId: soak.projectId, runId: isScored ? soak.scoredId : soak.loggedId };
      await postUntilStored(soak, agent, form, target, traces);
      if (isScored) soak.scored += traces.length;
      else if (isGone) soak.gone.set(name, (soak.gone.get(name) ?? 0) + traces.length);
      else soak.kept += traces.length;
    }
  };
  await Promise.all([lane(ownJson), lane(otlp)]);
  await agent.close();
}

/** The traces have ids of their own, so that those which are sent twice are stored once. */
async function postUntilStored(
  { url, apiKey, figures }: Soak,
  agent: Agent,
  form: Form,
  target: { projectId: string; runId: string },
  traces: Record<string, unknown>[],
): Promise<void> {
  const [body, headers] = [form.body(target, traces), { ...form.headers(target), 'service-api-key': apiKey }];
  for (let attempt = 1; ; attempt++) {
    try {
      await figures.time(`ingest ${form.name}`, async () => {
        const answer = await fetch(`${url}${form.path(target)}`, { method: 'POST', headers, body, dispatcher: agent });
        const text = await answer.text();
        if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
      });
      return;
    } catch (err) {
      if (attempt === ATTEMPTS) throw err;
      await sleep(100 * 2 ** attempt);
    }
  }
}

type Filter = Record<string, unknown>;
const leaf = (type: string, column_id: string, operator: string, value: unknown): Filter => ({
  type,
  column_id,
  operator,
  value,
});

async function search(soak: Soak, signal: AbortSignal): Promise<void> {
  const { client, projectId, loggedId, scoredId, figures } = soak;
  const page = (kind: string, run: string, filters: Filter[], sort: string) =>
    client.send<{ records: { id: string }[] }>(`/projects/${projectId}/${kind}/search`, {
      repeatable: true,
      body: { log_stream_id: run, filters, sort: { column_id: sort, ascending: false }, limit: 50 },
    });
  const questions: [name: string, ask: () => Promise<unknown>][] = [
    ['newest', () => page('traces', loggedId, [], 'created_at')],
    ['text', () => page('spans', loggedId, [leaf('text', 'input', 'contains', 'kalomi')], 'created_at')],
    ['tokens', () => page('spans', loggedId, [leaf('number', 'metrics/num_total_tokens', 'gt', 900)], 'metrics/duration_ns')],
    ['scores', () => page('traces', scoredId, [leaf('number', 'metrics/latency', 'gte', 500)], 'metrics/latency')],
    [
      'timeline',
      () =>
        client.send(`/projects/${projectId}/metrics/search`, {
          repeatable: true,
          body: {
            log_stream_id: loggedId,
            start_time: new Date(Date.now() - 3_600_000).toISOString(),
            end_time: new Date().toISOString(),
            interval: 5,
          },
        }),
    ],
    [
      'trace',
      async () => {
        const [newest] = (await page('traces', scoredId, [], 'created_at')).records;
        if (newest) await client.send(`/projects/${projectId}/traces/${newest.id}`);
      },
    ],
  ];
  for (let index = 0; !signal.aborted; index++) {
    const [name, ask] = questions[index % questions.length] as (typeof questions)[number];
    await figures.time(name, ask).catch(() => {});
    await pause(PAUSE_BETWEEN_SEARCHES_MS, signal);
  }
}

/** Deletes the traces of each interval while those of the next one are logged. */
async function remove(soak: Soak, signal: AbortSignal): Promise<void> {
  for (let interval = 0; ; interval++) {
    // A request that was sent in an interval may be stored some time after it.
    await pause(DELETE_EVERY_MS + (interval === 0 ? DELETE_EVERY_MS / 2 : 0), signal);
    if (signal.aborted) return;
    await removeNamed(soak, `gone ${interval}`);
  }
}

async function removeNamed({ client, projectId, loggedId, figures }: Soak, name: string): Promise<void> {
  const body = { log_stream_id: loggedId, filters: [leaf('text', 'name', 'eq', name)] };
  await figures
    .time('delete', () => client.send(`/projects/${projectId}/traces/delete`, { repeatable: true, body }))
    .catch(() => {});
}

async function experiments(soak: Soak, signal: AbortSignal): Promise<void> {
  const { client, projectId, figures } = soak;
  const dataset = Array.from({ length: EXPERIMENT_ROWS }, (_, index) => ({
    input: `question ${index}`,
    output: index % 10 === 0 ? 'wrong' : `question ${index}`,
  }));
  for (let index = 0; !signal.aborted; index++) {
    const options = { client, projectId, dataset, metrics: ['exact_match'], concurrency: 20 };
    const echo = async (input: unknown) => {
      await sleep(20);
      return input;
    };
    await figures
      .time('experiment', async () => {
        const { experiment, progress } = await runExperiment({ ...options, function: echo, experimentName: `soak ${index}` });
        if (progress.rows_done !== EXPERIMENT_ROWS || progress.rows_failed > 0) throw new Error(JSON.stringify(progress));
        const mean = experiment.aggregate_metrics.exact_match;
        if (Math.abs((mean ?? 0) - 0.9) > 1e-9) throw new Error(`the mean is ${mean}, not 0.9`);
        soak.rows += EXPERIMENT_ROWS;
      })
      .catch(() => {});
    await pause(PAUSE_BETWEEN_EXPERIMENTS_MS, signal);
  }
}

/** Counts what was acknowledged, once the last traces are deleted and the others scored. */
async function check(soak: Soak): Promise<void> {
  const { client, projectId, loggedId, scoredId, figures } = soak;
  for (const name of soak.gone.keys()) await removeNamed(soak, name);
  const count = async (kind: string, run: string, filters: Filter[] = []) =>
    (
      await client.send<{ total_count: number }>(`/projects/${projectId}/${kind}/count`, {
        repeatable: true,
        body: { log_stream_id: run, filters },
      })
    ).total_count;
  const wanted: [name: string, ask: () => Promise<number>, wanted: number][] = [
    ['traces logged', () => count('traces', loggedId), soak.kept],
    ['their spans', () => count('spans', loggedId), SPANS_PER_TRACE * soak.kept],
    ['traces to score', () => count('traces', scoredId), soak.scored],
    ['their spans', () => count('spans', scoredId), SPANS_PER_TRACE * soak.scored],
    ['latencies scored', () => count('traces', scoredId, [leaf('number', 'metrics/latency', 'gte', 0)]), soak.scored],
  ];
  const deadline = performance.now() + SETTLE_MS;
  for (const [name, ask, number] of wanted) {
    let found = await ask();
    for (; found !== number && performance.now() < deadline; found = await ask()) await sleep(500);
    print(`${name}: ${found} of ${number}`);
    if (found !== number) figures.failed('count', `${found} ${name} where ${number} were acknowledged`);
  }
}

function printMemory(samples: readonly TreeMemory[]): void {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const median = (of: readonly TreeMemory[]) =>
    percentile(
      of.map(({ pss }) => pss).sort((a, b) => a - b),
      0.5,
    );
  const most = Math.max(...samples.map(({ pss }) => pss));
  print(
    `memory, PSS: ${median(samples.slice(quarter, 2 * quarter)).toFixed(0)} MiB in the second quarter, ` +
      `${median(samples.slice(-quarter)).toFixed(0)} in the last one, ${most.toFixed(0)} at most`,
  );
}

const sumOf = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, one) => sum + one, 0);
const mib = ({ pss, rss }: TreeMemory): string => `${pss.toFixed(0)} MiB PSS, ${rss.toFixed(0)} RSS`;
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  ms <= 0 ? Promise.resolve() : sleep(ms, undefined, { signal }).catch(() => {});
const print = (line: string) => process.stdout.write(`${line}\n`);
