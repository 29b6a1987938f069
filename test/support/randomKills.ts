import { setTimeout as delay } from 'node:timers/promises';
import { createPrompt } from '../../client/prompts.ts';
import { late, says, startModelEndpoint } from './modelEndpoint.ts';
import { modelAt, newExperiment, type Progress } from './runs.ts';
import { balancedClient, type ServicePart, startServiceServers } from './serviceServers.ts';

export interface RandomKillsOptions {
  programs: { postgres: string; redis: string };
  /** Which processes are killed when, and for how long they are away. */
  seed: number;
  kills: number;
  rows: number;
  concurrency: number;
  /** Milliseconds of each model call. */
  rowMs: number;
  checkout?: string | undefined;
}

export interface KillsOutcome {
  /** Names of what was killed, in order. */
  killed: string[];
  end: Progress;
  seconds: number;
  /** Rows without a recorded result. */
  lost: number;
  /** Results, spans or scores beyond one a row, or that are not the row's own. */
  wrong: number;
  /** Most calls at once that the endpoint saw. */
  most: number;
  calls: number;
}

/** Milliseconds that what was killed is away at most, and that a kill is late at most. */
const AWAY_MS = 2_000;
const LATE_MS = 500;

/**
 * A prompt template's run over two apis, two workers, ClickHouse's stand-in, Redis, Postgres and Temporal, of which one after another is ended by
 * SIGKILL and started again after a moment: each of them once before any of them twice, spread over the rows.
 */
export async function randomKills({
  programs,
  seed,
  kills,
  rows,
  concurrency,
  rowMs,
  checkout,
}: RandomKillsOptions): Promise<KillsOutcome> {
  const random = randomOf(seed);
  const endpoint = await startModelEndpoint();
  const started = new Set<string>();
  endpoint.otherwise(async (request, response) => {
    const [ordinal = ''] = /\d+/.exec(/question \d+/.exec(request.text)?.[0] ?? '') ?? [];
    started.add(ordinal);
    await late(rowMs, says(`answer ${ordinal}`))(request, response);
  });
  await using servers = await startServiceServers(programs, { OUTBOUND_ALLOW: '127.0.0.1' }, checkout);
  await using _endpoint = { [Symbol.asyncDispose]: () => endpoint.close() };
  const apis = [await servers.api(), await servers.api()];
  const workers = [servers.worker(), servers.worker()];
  await Promise.all([...apis, ...workers].map((part) => part.start()));
  const client = balancedClient(apis);
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'kills' } });
  await modelAt(client, 'models', endpoint.url, ['model-1']);
  const { selected_version_id: template } = await createPrompt({ client, projectId, name: 'ask', template: '{{input}}' });
  const experiment = await newExperiment(client, projectId, { name: `seed ${seed}`, metrics: ['exact_match'] });

  const victims: Record<string, Victim> = {
    ...Object.fromEntries(apis.map((api, index) => [`api ${index + 1}`, partVictim(api)])),
    ...Object.fromEntries(workers.map((worker, index) => [`worker ${index + 1}`, partVictim(worker)])),
    clickhouse: servers.clickhouse,
    redis: servers.redis,
    postgres: servers.postgres,
    temporal: { kill: async () => servers.temporal.kill(), restart: async () => undefined },
  };
  const begun = performance.now();
  await experiment.start({
    runner: { kind: 'prompt_template', prompt_template_version_id: template, prompt_settings: { model_alias: 'model-1' } },
    records: Array.from({ length: rows }, (_, index) => ({ input: `question ${index}`, output: `answer ${index}` })),
    concurrency,
  });
  const killed: string[] = [];
  const away = new Map<string, Promise<void>>();
  let order: string[] = [];
  while (killed.length < kills) {
    while (started.size < ((killed.length + 0.5) / kills) * rows) await delay(20);
    await delay(random() * LATE_MS);
    if (order.length === 0) order = shuffled(Object.keys(victims), random);
    const name = order.pop() as string;
    const victim = victims[name] as Victim;
    await away.get(name);
    await victim.kill();
    killed.push(name);
    away.set(
      name,
      delay(random() * AWAY_MS).then(() => victim.restart()),
    );
  }
  await Promise.all(away.values());
  const end = await experiment.end(300_000);
  const seconds = (performance.now() - begun) / 1_000;
  const [traces, spans] = [await experiment.traces(), await experiment.spans()];
  const inputs = new Set(traces.map(({ input }) => input));
  const isRight = ({ input, output, metrics }: (typeof traces)[number]) =>
    output === input.replace('question', 'answer') && (metrics.exact_match === true || metrics.exact_match === 1);
  const wrong =
    traces.length - inputs.size + Math.abs(spans.length - traces.length) + traces.filter((trace) => !isRight(trace)).length;
  return {
    killed,
    end,
    seconds,
    lost: rows - inputs.size,
    wrong,
    most: endpoint.mostAtOnce(),
    calls: endpoint.requests.length,
  };
}

interface Victim {
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/** Acts as a supervisor: it tries a start again that fails because a server is away. */
function partVictim(part: ServicePart): Victim {
  return {
    async kill() {
      await part.end('SIGKILL');
    },
    async restart() {
      while (
        !(await part.start().then(
          () => true,
          () => false,
        ))
      )
        await delay(200);
    },
  };
}

/** Numbers from 0 to 1, the same for each seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled(names: readonly string[], random: () => number): string[] {
  const keyed = names.map((name) => ({ name, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ name }) => name);
}
