import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceClient } from '../../client/http.ts';
import { builtinByName } from '../../shared/scorers/presets.ts';
import { late, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { type AtKill, paidOnlyUnwrittenTwice, storedValues } from '../support/paidTwice.ts';
import { processTree, untilGone } from '../support/processTree.ts';
import { modelAt } from '../support/runs.ts';
import { type ServiceFolder, type ServiceProcess, serviceFolder } from '../support/serviceProcess.ts';

const TRACES = 600;
const AT_ONCE = 20;
/** Values computed at once, and those that may wait for their write: what a kill makes a judge compute again. */
const UNWRITTEN = AT_ONCE + 250;

let folder: string;
let where: ServiceFolder;
let judge: ModelEndpoint;
let service: ServiceProcess | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-recompute-'));
  judge = await startModelEndpoint();
  judge.otherwise(late(40, says('{"explanation": "it agrees", "verdict": true}')));
  where = await serviceFolder(folder);
});
afterAll(async () => {
  await service?.kill('SIGTERM');
  await judge?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Trace {
  id: string;
  metric_info: Record<string, { status_type: string; value?: unknown }> | null;
}

/** Kills the service's process, or Temporal's server alone, and starts what is gone. @returns what there was before the service's next start */
async function kill(victim: 'service' | 'temporal'): Promise<AtKill | undefined> {
  const running = service as ServiceProcess;
  const all = await processTree(running.child.pid as number);
  const temporal = all.find(({ command }) => command.includes('server start-dev'));
  if (victim === 'temporal') {
    process.kill(temporal?.pid as number, 'SIGKILL');
    return undefined;
  }
  await running.kill('SIGKILL');
  await untilGone(all);
  const calls = judge.requests.length;
  const stored = await storedValues(folder);
  service = await where.start();
  return { calls, stored };
}

const repeatsOnlyUnwritten = (kills: readonly (AtKill | undefined)[], end: AtKill): void =>
  paidOnlyUnwrittenTwice(
    kills.filter((one) => one !== undefined),
    end,
    { atOnce: AT_ONCE, unwritten: UNWRITTEN },
  );

test('every value is computed, whatever is killed and when: those that are asked for, and those of new records', async () => {
  service = await where.start();
  let client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey });
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'kills' } });
  const { id: streamId } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: 'stream' } });
  await modelAt(client, 'judge', judge.url, ['judge-1']);
  const scorer = builtinByName('correctness')?.scorerId as string;
  const log = (count: number) =>
    client.send(`/projects/${projectId}/traces`, {
      body: {
        log_stream_id: streamId,
        traces: Array.from({ length: count }, (_, index) => ({ input: `question ${index}`, output: 'answer' })),
      },
    });
  const values = async () => {
    const { records } = await client.send<{ records: Trace[] }>(`/projects/${projectId}/traces/search`, {
      body: { log_stream_id: streamId, limit: 5_000 },
    });
    const states = records.map(({ metric_info }) => metric_info?.correctness?.status_type ?? 'none');
    return { records: records.length, scored: states.filter((state) => state === 'success').length, states: new Set(states) };
  };
  /** Kills at these counts of calls, then waits until every trace has its value. */
  const throughKills = async (calls: readonly { at: number; victim: 'service' | 'temporal' }[], traces: number) => {
    const kills: (AtKill | undefined)[] = [];
    for (const { at, victim } of calls) {
      await expect.poll(() => judge.requests.length, { interval: 5 }).toBeGreaterThanOrEqual(at);
      kills.push(await kill(victim));
      const { url: apiUrl, apiKey } = service as ServiceProcess;
      client = new ServiceClient({ apiUrl, apiKey });
    }
    await expect.poll(values, { interval: 250 }).toEqual({ records: traces, scored: traces, states: new Set(['success']) });
    return kills;
  };

  await log(TRACES);
  const { job_ids } = await client.send<{ job_ids: string[] }>(`/projects/${projectId}/recompute-metrics`, {
    body: { log_stream_id: streamId, scorer_ids: [scorer] },
  });
  const kills = await throughKills(
    [
      { at: 20, victim: 'service' },
      { at: 250, victim: 'temporal' },
      { at: 450, victim: 'service' },
    ],
    TRACES,
  );
  const job = () => client.send<{ status: string; steps_completed: number }>(`/jobs/${job_ids[0]}`);
  await expect.poll(job).toMatchObject({ status: 'completed', steps_completed: TRACES });
  repeatsOnlyUnwritten([{ calls: 0, stored: 0 }, ...kills], { calls: judge.requests.length, stored: TRACES });

  // New records, of which a dead process could not say any more that it had stored them.
  const before = { calls: judge.requests.length, stored: TRACES };
  await client.send(`/projects/${projectId}/runs/${streamId}/scorer-settings`, {
    body: { run_id: streamId, scorers: [{ id: scorer, scorer_type: 'preset' }] },
  });
  await log(TRACES);
  const first = await kill('service');
  const { url: apiUrl, apiKey } = service as ServiceProcess;
  client = new ServiceClient({ apiUrl, apiKey });
  const second = await throughKills([{ at: before.calls + 100, victim: 'service' }], 2 * TRACES);
  repeatsOnlyUnwritten([before, first, ...second], { calls: judge.requests.length, stored: 2 * TRACES });
}, 600_000);
