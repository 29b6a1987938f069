import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { postgresExperiments } from '../../shared/stores/postgres/experimentStore.ts';
import { postgresOfferedRows } from '../../shared/stores/postgres/offeredRows.ts';
import { startExperimentService } from '../support/experimentService.ts';

let service: Awaited<ReturnType<typeof startExperimentService>>;
let projectId: string;
beforeAll(async () => {
  service = await startExperimentService();
  projectId = await service.project();
});
afterAll(() => service[Symbol.asyncDispose]());

const experiment = async (group?: string): Promise<string> => {
  const body = { name: `experiment ${newId()}`, ...(group && { experiment_group_name: group }) };
  const { status, body: made } = await service.call('POST', `/v2/projects/${projectId}/experiments`, body);
  expect(status).toBe(200);
  return (made as { id: string }).id;
};

/** Whatever does `event` to a row of `table` fails while `work` runs: the store goes away between two statements. */
async function failing(event: 'INSERT' | 'UPDATE' | 'DELETE', table: string, work: () => Promise<unknown>): Promise<void> {
  const { database } = service;
  await database.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'gone'; END $$;
    CREATE TRIGGER refuse BEFORE ${event} ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`);
  try {
    await expect(work()).rejects.toThrow('gone');
  } finally {
    await database.exec(`DROP TRIGGER refuse ON ${table}; DROP FUNCTION refuse()`);
  }
}
const one = async (sql: string, ...params: unknown[]) => service.database.maybeOne(sql, params);

test('the end of a run and the time of its last change', async () => {
  const id = await experiment();
  const requested = await service.ledger.request(id, 0, { rowsToRun: 'missing' });
  const number = requested?.run.workflowNumber as number;
  const updatedAt = async () => (await one('SELECT updated_at FROM runs WHERE id = $1', id))?.updated_at;
  const before = await updatedAt();
  const end = (workflow: number) => service.ledger.end(id, workflow, 'completed', { error: null, aggregates: {} });

  await failing('UPDATE', 'runs', () => end(number));
  expect(await service.ledger.find(id)).toMatchObject({ state: 'requested' });
  await end(number - 1);
  expect(await updatedAt()).toEqual(before);
  await end(number);
  expect(await service.ledger.find(id)).toMatchObject({ state: 'completed' });
  expect(await updatedAt()).not.toEqual(before);
});

test('the rows on offer of a range', async () => {
  const id = await experiment();
  const offered = postgresOfferedRows(service.database);
  const offer = (ordinals: number[]) => offered.offer(id, { from: 0, to: 10, ordinals, attempt: 1, since: 1 });
  const ordinals = async () =>
    (await service.database.query('SELECT ordinal FROM offered_rows WHERE run_id = $1 ORDER BY ordinal', [id])).map(
      ({ ordinal }) => ordinal,
    );
  await offer([1, 2, 3]);
  await failing('INSERT', 'offered_rows', () => offer([3, 4]));
  expect(await ordinals()).toEqual([1, 2, 3]);
  await offer([3, 4]);
  expect(await ordinals()).toEqual([3, 4]);
});

test('an experiment that is discarded and the group that was made for it', async () => {
  const experiments = postgresExperiments(service.database);
  const id = await experiment('made for it');
  const groupId = String((await one('SELECT group_id FROM experiments WHERE run_id = $1', id))?.group_id);
  const left = async () => ({
    experiment: (await experiments.find(projectId, id))?.id,
    group: (await one('SELECT id FROM experiment_groups WHERE id = $1', groupId))?.id,
  });
  await failing('DELETE', 'experiment_groups', () => experiments.discard(id, groupId));
  expect(await left()).toEqual({ experiment: id, group: groupId });
  await experiments.discard(id, groupId);
  expect(await left()).toEqual({ experiment: undefined, group: undefined });
});

test('a group that another experiment joined meanwhile stays', async () => {
  const experiments = postgresExperiments(service.database);
  const [id, other] = [await experiment('joined'), await experiment('joined')];
  const groupId = String((await one('SELECT group_id FROM experiments WHERE run_id = $1', id))?.group_id);
  await experiments.discard(id, groupId);
  expect(await experiments.find(projectId, other)).toMatchObject({ group: { id: groupId } });
});
