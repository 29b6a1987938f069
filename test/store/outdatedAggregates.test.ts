import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExperimentAggregates } from '../../shared/experiments/aggregates.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { postgresOutdatedAggregates } from '../../shared/stores/postgres/outdatedAggregates.ts';
import { postgresDeletionRequests, postgresErasures } from '../../shared/stores/postgres/recordDeletions.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { type ExperimentService, startExperimentService } from '../support/experimentService.ts';
import { type PostgresServer, postgresProgram, startPostgresServer } from '../support/postgresServer.ts';

describe('outdated aggregates, embedded', () => cases(async () => undefined));
describeWithServer('outdated aggregates on a Postgres server', postgresProgram, (program) => {
  let server: PostgresServer;
  afterAll(() => server?.remove());
  cases(async () => {
    server = await startPostgresServer(program);
    return server.url;
  });
});

function cases(urlOf: () => Promise<string | undefined>): void {
  let service: ExperimentService;
  let outdated: ReturnType<typeof postgresOutdatedAggregates>;
  beforeAll(async () => {
    service = await startExperimentService(await urlOf());
    outdated = postgresOutdatedAggregates(service.database);
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  const newRun = async () => {
    const projectId = await service.project();
    const { body } = await service.call('POST', `/projects/${projectId}/experiments`, { name: 'filled' });
    return { projectId, runId: body.id as string };
  };
  type Run = Awaited<ReturnType<typeof newRun>>;
  const aggregates = (score: number): ExperimentAggregates => ({ metrics: {}, rolledUp: { score } });
  const computed = (score: number, workflowNumber = 0) => ({ aggregates: aggregates(score), workflowNumber });
  /** As a process of its own does. */
  const note = (...runs: Run[]) => postgresErasures(service.database).noteOutdated(runs);
  const claim = async (run: Run) => {
    const claimed = await outdated.claim(run);
    return typeof claimed === 'string' ? claimed : claimed.claim;
  };
  const shown = async ({ projectId, runId }: Run) =>
    (await service.call('GET', `/projects/${projectId}/experiments/${runId}`)).body.aggregate_metrics;
  const left = async (run: Run, fresh: boolean) => (await outdated.left(fresh)).some(({ runId }) => runId === run.runId);
  /** As if it had been noted an hour ago. */
  const old = ({ runId }: Run) =>
    service.database.query("UPDATE outdated_aggregates SET noted_at = noted_at - interval '1 hour' WHERE run_id = $1", [runId]);
  const startRun = async ({ runId }: Run) => {
    const request = { rowsToRun: 'none', runner: { kind: 'dataset_outputs' } } as const;
    expect(await service.ledger.request(runId, 0, request)).toMatchObject({ started: true });
  };

  test('a write notes the experiments among its runs', async () => {
    const [first, second] = [await newRun(), await newRun()];
    const stream = { projectId: first.projectId, runId: newId() };
    const byId = (a: Run, b: Run) => (a.runId < b.runId ? -1 : 1);
    const noted = await note(first, stream, second);
    expect([...noted].sort(byId)).toEqual([first, second].sort(byId));
    expect(await note()).toEqual([]);
    expect(await left(first, true)).toBe(true);
    // A write that it was noted for may be under way.
    expect(await left(first, false)).toBe(false);
  });

  test('a process that has noted a run a moment ago does not write that again', async () => {
    const [run, stream] = [await newRun(), await newRun()];
    await service.database.query('DELETE FROM experiments WHERE run_id = $1', [stream.runId]);
    const notes = postgresErasures(service.database);
    const notedAt = () =>
      service.database.maybeOne('SELECT noted_at::text FROM outdated_aggregates WHERE run_id = $1', [run.runId]);
    expect(await notes.noteOutdated([run, stream])).toEqual([run]);
    const first = await notedAt();
    expect(await notes.noteOutdated([run, stream])).toEqual([run]);
    expect(await notedAt()).toEqual(first);
    await note(run);
    expect(await notedAt()).not.toEqual(first);
  });

  test('one computes at a time, and then the experiment rests', async () => {
    const run = await newRun();
    await note(run);
    const mine = await claim(run);
    expect(await outdated.claim(run)).toBe('later');
    expect(await outdated.store(run, newId(), computed(0), 0)).toBe(false);
    expect(await outdated.store(run, mine, computed(1), 3_600_000)).toBe(true);
    expect(await shown(run)).toEqual({ score: 1 });
    expect(await outdated.claim(run)).toBe('later');
    await outdated.freeAll();
    const again = await claim(run);
    await outdated.release(run, again, 0);
    expect(await outdated.store(run, again, computed(2), 0)).toBe(false);
    expect(await outdated.claim(run)).toMatchObject({ claim: expect.any(String) });
    expect(await outdated.claim({ ...run, runId: newId() })).toBe('gone');
  });

  test('what was computed long after the last note settles it; a note in between stays', async () => {
    const run = await newRun();
    await note(run);
    await outdated.store(run, await claim(run), computed(1), 0);
    expect(await left(run, true)).toBe(true);
    await old(run);
    expect(await left(run, false)).toBe(true);
    const mine = await claim(run);
    await note(run);
    expect(await outdated.store(run, mine, computed(2), 0)).toBe(true);
    expect(await left(run, true)).toBe(true);
    await old(run);
    expect(await outdated.store(run, await claim(run), computed(3), 0)).toBe(true);
    expect(await left(run, true)).toBe(false);
    expect(await shown(run)).toEqual({ score: 3 });
  });

  test('a run that goes on keeps its experiment, and what was computed before it is not stored', async () => {
    const run = await newRun();
    await note(run);
    await old(run);
    const mine = await claim(run);
    await startRun(run);
    expect(await outdated.store(run, mine, computed(1), 0)).toBe(false);
    await outdated.freeAll();
    expect(await outdated.claim(run)).toBe('running');
    expect(await left(run, true)).toBe(false);
    await service.ledger.end(run.runId, 1, 'completed', { error: null, aggregates: aggregates(2) });
    expect(await outdated.store(run, mine, computed(1), 0)).toBe(false);
    expect(await left(run, true)).toBe(true);
    expect(await outdated.store(run, await claim(run), computed(3, 1), 0)).toBe(true);
    expect(await shown(run)).toEqual({ score: 3 });
  });

  test('a re-computation takes the claim of what began before it', async () => {
    const run = await newRun();
    const mine = await claim(run);
    await service.ledger.setAggregates(run.runId, aggregates(2));
    expect(await outdated.store(run, mine, computed(1), 0)).toBe(false);
    expect(await shown(run)).toEqual({ score: 2 });
    expect(await left(run, true)).toBe(true);
  });

  test('a deletion of records by request notes, and a deleted experiment leaves nothing', async () => {
    const run = await newRun();
    const requests = postgresDeletionRequests(service.database);
    const { id } = await requests.add({ run, kinds: ['trace'], filter: { and: [] }, requestedAt: new Date().toISOString() });
    expect(await left(run, true)).toBe(false);
    await requests.remove(id);
    expect(await left(run, true)).toBe(true);
    expect((await service.call('DELETE', `/projects/${run.projectId}/experiments/${run.runId}`)).status).toBe(204);
    expect(await left(run, true)).toBe(false);
    expect(await service.database.query('SELECT 1 FROM outdated_aggregates WHERE run_id = $1', [run.runId])).toEqual([]);
  });
}
