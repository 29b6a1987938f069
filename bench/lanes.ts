import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createPrompt } from '../client/prompts.ts';
import { postgresProgram } from '../test/support/postgresServer.ts';
import { redisProgram } from '../test/support/redisServer.ts';
import { newExperiment } from '../test/support/runs.ts';
import { startServiceServers } from '../test/support/serviceServers.ts';
import { type SlowEndpoint, slowEndpoint } from './slowEndpoint.ts';

const HANG_MS = 60_000;

/**
 * How busy the lanes of a run are kept: calls in flight at the endpoint over the concurrency that is set at that moment, from the first call until
 * the last row has started. An api and two workers over ClickHouse's stand-in, Redis, Postgres and Temporal; two runs of one prompt template:
 *
 * - `hanging`: 1 % of the rows take a minute, and the concurrency is raised by a half when a third of the rows have started, lowered again at two thirds;
 * - `replaced`: at a quarter of the rows one worker after the other is ended by SIGTERM and started again.
 *
 * Options: `--rows` (3000), `--row-ms` that the others take (1000), `--concurrency` (100), `--only` one of the two, `--checkout` of another release.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: 'string', default: '3000' },
      'row-ms': { type: 'string', default: '1000' },
      concurrency: { type: 'string', default: '100' },
      only: { type: 'string' },
      checkout: { type: 'string' },
    },
  });
  const { path: postgres } = postgresProgram;
  const { path: redis } = redisProgram;
  if (!postgres || !redis) throw new Error('postgres and redis-server must be installed');
  const [rows, rowMs, concurrency] = [Number(values.rows), Number(values['row-ms']), Number(values.concurrency)];
  await using endpoint = await slowEndpoint(() => rowMs);
  await using servers = await startServiceServers({ postgres, redis }, { OUTBOUND_ALLOW: '127.0.0.1' }, values.checkout);
  const api = await servers.api();
  const workers = [servers.worker(), servers.worker()];
  await Promise.all([api, ...workers].map((part) => part.start()));
  const { client } = api;
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'lanes' } });
  await client.send('/integrations/custom/bench', {
    method: 'PUT',
    body: { endpoint: endpoint.url, authentication_type: 'none', model_properties: [{ name: 'bench-model' }] },
  });
  const { selected_version_id: template } = await createPrompt({ client, projectId, name: 'ask', template: '{{input}}' });
  const records = Array.from({ length: rows }, (_, index) => ({ input: `question ${index}` }));

  /** Runs the rows; what happens meanwhile is up to `meanwhile`. */
  const measure = async (
    name: string,
    msOf: (index: number) => number,
    meanwhile: (setTo: (to: number) => Promise<void>) => Promise<{ from: number; to: number } | undefined>,
  ): Promise<void> => {
    endpoint.reset(msOf);
    const settings: Setting[] = [{ at: 0, concurrency }];
    const experiment = await newExperiment(client, projectId, { name });
    await experiment.start({
      runner: {
        kind: 'prompt_template',
        prompt_template_version_id: template,
        prompt_settings: { model_alias: 'bench-model' },
      },
      records,
      concurrency,
    });
    const trouble = await meanwhile(async (to) => {
      await experiment.steer('concurrency', { concurrency: to });
      settings.push({ at: performance.now(), concurrency: to });
    });
    const { rows_done, rows_failed } = await experiment.end(600_000);
    if (rows_done !== rows || rows_failed !== 0) throw new Error(`${name}: ${rows_done} rows done, ${rows_failed} failed`);
    const from = endpoint.changes()[0]?.at ?? 0;
    const to = endpoint.lastStartedAt();
    const share = busyShare(endpoint, settings, from, to);
    print(
      `  ${name}: lanes ${percent(share)} busy for ${((to - from) / 1_000).toFixed(0)} s; at most ${endpoint.most()} calls at once, ` +
        `${endpoint.calls()} calls for ${rows} rows`,
    );
    if (trouble)
      print(
        `    while the workers were replaced (${((trouble.to - trouble.from) / 1_000).toFixed(0)} s): ` +
          percent(busyShare(endpoint, settings, trouble.from, Math.min(to, trouble.to))),
      );
  };
  const started = async (share: number) => {
    while (endpoint.rows() < share * rows) await delay(50);
  };

  print(`${rows} rows of ${rowMs} ms, concurrency ${concurrency}, two workers`);
  if (values.only !== 'replaced')
    await measure(
      'hanging',
      (index) => (index % 100 === 50 ? HANG_MS : rowMs),
      async (setTo) => {
        await started(1 / 3);
        await setTo(Math.round(concurrency * 1.5));
        await started(2 / 3);
        await setTo(concurrency);
        return undefined;
      },
    );
  if (values.only !== 'hanging')
    await measure(
      'replaced',
      () => rowMs,
      async () => {
        await started(1 / 4);
        const from = performance.now();
        for (const worker of workers) {
          await worker.end('SIGTERM');
          await worker.start();
        }
        return { from, to: performance.now() };
      },
    );
}

interface Setting {
  at: number;
  concurrency: number;
}

/** The time that lanes were busy over the time that they were there. More calls than the concurrency, which are left after it was lowered, count once. */
function busyShare(endpoint: SlowEndpoint, settings: readonly Setting[], from: number, to: number): number {
  const times = [...endpoint.changes(), ...settings].map(({ at }) => at).filter((at) => at > from && at < to);
  const marks = [from, ...times.sort((a, b) => a - b), to];
  const changes = endpoint.changes();
  let [nextChange, nextSetting, inFlight, concurrency] = [0, 0, 0, 0];
  let busy = 0;
  let there = 0;
  for (let index = 0; index + 1 < marks.length; index++) {
    const [begin, end] = [marks[index] as number, marks[index + 1] as number];
    for (let one = changes[nextChange]; one && one.at <= begin; one = changes[++nextChange]) inFlight = one.inFlight;
    for (let one = settings[nextSetting]; one && one.at <= begin; one = settings[++nextSetting]) concurrency = one.concurrency;
    busy += Math.min(inFlight, concurrency) * (end - begin);
    there += concurrency * (end - begin);
  }
  return busy / there;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

const print = (line: string) => process.stdout.write(`${line}\n`);
