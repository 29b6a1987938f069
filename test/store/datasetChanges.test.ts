import { afterAll, beforeAll, expect, test } from 'vitest';
import { DatasetChangesResponse } from '../../shared/wire/datasets.ts';
import { type AssetService, startAssetService } from '../support/assetService.ts';

let service: AssetService;
beforeAll(async () => {
  service = await startAssetService();
});
afterAll(() => service.close());

const upload = async (rows: unknown[]): Promise<string> =>
  (await service.upload('jsonl', rows.map((row) => JSON.stringify(row)).join('\n'), {})).body.id;
const edit = (id: string, edits: unknown[]) => service.request('PATCH', `/datasets/${id}/content`, { json: { edits } });
const changesOf = async (id: string, version: number, query = '') => {
  const { status, body } = await service.request('GET', `/datasets/${id}/versions/${version}/changes${query}`);
  expect(status).toBe(200);
  return DatasetChangesResponse.parse(body);
};
const shown = ({ changes }: Awaited<ReturnType<typeof changesOf>>) =>
  changes.map((one) => [one.change, one.index_before, one.index, one.values_before, one.values]);

async function edited() {
  const id = await upload([{ input: 'a' }, { input: 'b' }, { input: 'c' }, { input: 'd' }]);
  const { body } = await service.request('GET', `/datasets/${id}/content`);
  const rows = body.rows.map((row: { row_id: string }) => row.row_id) as string[];
  await edit(id, [
    { edit_type: 'delete_row', row_id: rows[1] },
    { edit_type: 'update_row', row_id: rows[2], values: { input: 'C', note: 'new' } },
    { edit_type: 'prepend_row', values: { input: 'first' } },
  ]);
  return { id, rows };
}

test('each row that a version added, removed or edited is there as it was and as it is', async () => {
  const { id, rows } = await edited();
  const changes = await changesOf(id, 2);
  expect(changes).toMatchObject({
    ...{ from_version: 1, version_index: 2, rows_added: 1, rows_removed: 1, rows_edited: 1 },
    ...{ column_names_before: ['input'], column_names: ['input', 'note'], columns_renamed: [] },
  });
  expect(shown(changes)).toEqual([
    ['added', null, 0, null, { input: 'first', note: null }],
    ['removed', 1, null, { input: 'b' }, null],
    ['edited', 2, 2, { input: 'c' }, { input: 'C', note: 'new' }],
  ]);
  expect(changes.changes[2]).toMatchObject({ row_id: rows[2], metadata: { updated_in_version: 2 } });
});

test('versions are compared with any other, backwards too, and the first one with nothing', async () => {
  const { id } = await edited();
  await edit(id, [{ edit_type: 'rename_column', column_name: 'input', new_column_name: 'question' }]);
  expect(await changesOf(id, 3)).toMatchObject({ changes: [], columns_renamed: [{ from: 'input', to: 'question' }] });
  expect((await changesOf(id, 1, '?from_version=3')).changes.map(({ change }) => change)).toEqual(['removed', 'added', 'edited']);
  const first = await changesOf(id, 1);
  expect(first).toMatchObject({ from_version: null, rows_added: 4, column_names_before: [] });
  expect(first.changes.map(({ values }) => values?.input)).toEqual(['a', 'b', 'c', 'd']);
  expect((await changesOf(id, 2, '?from_version=2')).changes).toEqual([]);
  for (const path of ['versions/9/changes', 'versions/2/changes?from_version=9'])
    expect((await service.request('GET', `/datasets/${id}/${path}`)).status).toBe(404);
});

test('changes come in pages that join to the whole', async () => {
  const id = await upload(Array.from({ length: 450 }, (_, n) => ({ input: `q${n}` })));
  const whole = await changesOf(id, 1, '?limit=1000');
  const pages = [];
  for (let token: number | null = 0; token !== null; ) {
    const page: typeof whole = await changesOf(id, 1, `?starting_token=${token}&limit=199`);
    pages.push(...page.changes);
    token = page.next_starting_token;
  }
  expect(pages).toEqual(whole.changes);
  expect(pages).toHaveLength(450);
});
