import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findDataset } from '../../shared/datasets/createDataset.ts';
import { givenInput, templateVariables, toExperimentRow } from '../../shared/datasets/experimentRow.ts';
import { purgeUnusedRows } from '../../shared/datasets/purge.ts';
import { datasetRowStore, rowsOfRuns, storeRunRows } from '../../shared/datasets/rowStore.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { DatasetContent } from '../../shared/wire/datasets.ts';
import { type AssetService, startAssetService } from '../support/assetService.ts';
import type { RequestOptions } from '../support/http.ts';

let service: AssetService;
beforeAll(async () => {
  service = await startAssetService();
});
afterAll(() => service.close());

const call = (method: string, path: string, json?: unknown, options: RequestOptions = {}) =>
  service.request(method, path, json === undefined ? options : { ...options, json });
const contentOf = async (id: string, query = '') => {
  const reply = await call('GET', `/datasets/${id}/content${query}`);
  expect(reply.status).toBe(200);
  return { ...DatasetContent.parse(reply.body), etag: reply.headers.get('etag') ?? '' };
};
const dictsOf = async (id: string) => (await contentOf(id, '?limit=1000')).rows.map((row) => row.values_dict);
const jsonl = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).join('\n');
const upload = async (rows: unknown[], fields: Record<string, string> = {}): Promise<string> =>
  (await service.upload('jsonl', jsonl(rows), fields)).body.id;
const lineOf = (reply: { body: { detail: { loc: unknown[]; msg: string }[] } }) => reply.body.detail[0];

describe('a file becomes a dataset', () => {
  test('CSV with a byte order mark, CRLF, quoted newlines and unicode', async () => {
    const csv = '\uFEFFinput,output,naïve\r\n"two\r\nlines, ""quoted""",4,日本\r\n,"",🙂\r\n';
    const created = await service.upload('csv', csv, { name: 'arithmetic' });
    expect(created).toMatchObject({
      status: 200,
      body: {
        name: 'arithmetic',
        num_rows: 2,
        column_names: ['input', 'output', 'naïve'],
        current_version_index: 1,
        draft: false,
      },
    });
    expect(created.body.created_by_user).toMatchObject({ email: 'ada@example.com', first_name: 'Ada' });
    expect(await dictsOf(created.body.id)).toEqual([
      { input: 'two\r\nlines, "quoted"', output: '4', naïve: '日本' },
      { input: null, output: '', naïve: '🙂' },
    ]);
  });

  const two = ['input', 'output'];
  test.each([
    [
      'mixed line ends',
      'input,output\nWhat?,4\r\nWhy?,6\r\n',
      ',',
      0,
      two,
      [
        ['What?', '4'],
        ['Why?', '6'],
      ],
    ],
    [
      'line ends of old Macs',
      'input,output\ra,b\rc,d',
      ',',
      0,
      two,
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['semicolons and decimal commas', 'input;output\r\n1,5;2,5\r\n', ';', 0, two, [['1,5', '2,5']]],
    ['tabs', 'input\toutput\na, b\tc\n', '\t', 0, two, [['a, b', 'c']]],
    ['a declared delimiter', '\uFEFFsep=;\r\ninput;output\r\na;b\r\n', ';', 0, two, [['a', 'b']]],
    ['a declaration against its header', 'sep=|\na;b|c;d\n1|2\n', '|', 0, ['a;b', 'c;d'], [['1', '2']]],
    [
      'empty rows of a spreadsheet',
      'input,output\na,b\n,\nc,d\n,\n,\n',
      ',',
      3,
      two,
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'blanks around names',
      'input, output\t,"  kept "\n a , b ,c\n',
      ',',
      0,
      ['input', 'output', '  kept '],
      [[' a ', ' b ', 'c']],
    ],
    [
      'both in a header',
      'a;b,c\n1;2,5\n3;4\n',
      ';',
      0,
      ['a', 'b,c'],
      [
        ['1', '2,5'],
        ['3', '4'],
      ],
    ],
    ['one column with commas', 'text\n"a, b"\nc\n', ',', 0, ['text'], [['a, b'], ['c']]],
  ] as const)('CSV with %s', async (_what, text, delimiter, skipped, names, rows) => {
    const { status, body } = await service.upload('csv', text);
    expect([status, body.csv]).toEqual([200, { delimiter, empty_rows_skipped: skipped }]);
    expect(body.column_names).toEqual(names);
    expect((await dictsOf(body.id)).map((row) => names.map((name) => row[name]))).toEqual(rows);
  });

  test('a delimiter can be set, and one that does not fit is named', async () => {
    const ask = async (text: string, delimiter: string) => {
      const form = new FormData();
      form.set('file', new Blob([text]), newId());
      const query = new URLSearchParams({ format: 'csv', delimiter });
      const reply = await fetch(`${service.url}/datasets?${query}`, { method: 'POST', body: form });
      return { status: reply.status, body: (await reply.json()) as { column_names: string[]; detail: { msg: string }[] } };
    };
    const notes = 'notes; remarks\nx\n';
    const detected = await service.upload('csv', notes);
    expect([detected.status, lineOf(detected)?.msg]).toEqual([
      422,
      'line 2: 1 fields, but the header names 2 columns when ";" separates fields',
    ]);
    for (const comma of [',', 'comma']) expect((await ask(notes, comma)).body.column_names).toEqual(['notes; remarks']);
    expect((await ask('a\tb\n1\t2\n', 'tab')).body.column_names).toEqual(['a', 'b']);
    expect((await ask(notes, 'colon')).status).toBe(422);
  });

  test('JSON lines keep numbers, texts, null and flat objects apart; deeper values become JSON text', async () => {
    const id = await upload([
      { input: 'a', output: 1.5, metadata: { k: 'v', n: 2 } },
      { input: { a: [1] }, output: '1.5', flag: true, big: null },
      {},
    ]);
    expect(await dictsOf(id)).toEqual([
      { input: 'a', output: 1.5, metadata: { k: 'v', n: 2 }, flag: null, big: null },
      { input: '{"a":[1]}', output: '1.5', metadata: null, flag: 'true', big: null },
      { input: null, output: null, metadata: null, flag: null, big: null },
    ]);
  });

  test('whole numbers beyond 2^53 keep their digits', async () => {
    const { body } = await service.upload('jsonl', '{"input": 12345678901234567890, "output": 123456789012345678901234567890}');
    expect(await dictsOf(body.id)).toEqual([{ input: Number('12345678901234567890'), output: '123456789012345678901234567890' }]);
    expect(await (await fetch(`${service.url}/datasets/${body.id}/content`)).text()).toContain('{"input":12345678901234567890,');
  });

  test('a column may be called like a built-in of the language', async () => {
    const { body } = await service.upload('jsonl', '{"__proto__": "p", "constructor": "c"}');
    expect((await contentOf(body.id)).rows[0]?.values).toEqual(['p', 'c']);
  });

  test('an empty list, sent as one line {}, has no columns and no rows', async () => {
    expect((await service.upload('jsonl', '{}')).body).toMatchObject({ num_rows: 0, column_names: [] });
    expect((await service.upload('json', '[]')).body).toMatchObject({ num_rows: 0, column_names: [] });
    expect((await service.upload('csv', 'input,output\n')).body).toMatchObject({
      num_rows: 0,
      column_names: ['input', 'output'],
    });
  });

  test.each([
    ['csv', 'a,b\n1,2\n"x\ny",2\n3\n', 5, 'names 2 columns'],
    ['csv', 'a,b\n1,2,3\n', 2, '3 fields'],
    ['csv', 'a,b\n1,2\n1,"2"x\n', 3, 'closing quote'],
    ['csv', 'a,b\n1,2\n1,"2\n3,4\n', 3, 'never closed'],
    ['csv', 'a,a\n1,2\n', 1, 'twice'],
    ['jsonl', '{"a":1}\n\n{"a":\n', 3, 'not valid JSON'],
    ['jsonl', '[1]\n', 1, 'JSON object'],
    ['json', '[{"a":1}\n,\n 3]', 3, 'array of objects'],
    ['json', '[\n  {"a":1},\n  {"a":2},\n  "x"\n]', 4, 'array of objects'],
    ['json', '[\n{"a":1}\n{"a":2}\n]', 3, 'not valid JSON'],
    ['json', '[\n{"a":1},\n{"a":"x\n"}\n]', 3, 'not valid JSON: Bad control character in string literal'],
    ['json', '[\n{"a":1},\n{\n"a" 1\n}\n]', 4, "not valid JSON: Expected ':' after property name"],
    ['json', '[\n{"a":1},\n\n{"a": secret\n}]', 4, "not valid JSON (in the row that starts at this line): Unexpected token 's'"],
    ['jsonl', '{"a":1}\n{"a": " in JSON at position 7", oops}', 2, 'not valid JSON: '],
    ['json', '{"a":1}', 1, 'one array of objects'],
    ['json', '[{"a":1}', 1, 'cut off'],
  ])('a broken %s file names its line and leaves nothing: %j', async (format, text, line, message) => {
    const name = `broken ${newId()}`;
    const reply = await service.upload(format, text, { name });
    expect(reply.status).toBe(422);
    expect(lineOf(reply)).toMatchObject({ loc: ['body', 'file', line], msg: expect.stringContaining(`line ${line}: `) });
    expect(lineOf(reply)?.msg).toContain(message);
    const found = await call('POST', '/datasets/query', { filters: [{ name: 'name', operator: 'eq', value: name }] });
    expect(found.body.datasets).toEqual([]);
  });

  test('a file that breaks after thousands of rows leaves no row behind', async () => {
    const before = await storedRows();
    const reply = await service.upload('jsonl', `${'{"input":"x"}\n'.repeat(12_000)}oops`);
    expect(lineOf(reply)?.loc).toEqual(['body', 'file', 12_001]);
    expect(await storedRows()).toBe(before);
  });

  test('Feather is refused in words', async () => {
    const reply = await service.upload('feather', new Uint8Array([1, 2, 3]));
    expect(reply).toMatchObject({ status: 422 });
    expect(lineOf(reply)?.msg).toContain('csv, jsonl or json');
  });

  test('100,000 rows are read in pages that concatenate, and in one', async () => {
    const text = Array.from({ length: 100_000 }, (_, n) => `{"input":"question ${n}","output":${n}}`).join('\n');
    const { body } = await service.upload('jsonl', text);
    expect(body.num_rows).toBe(100_000);
    const page = await contentOf(body.id, '?starting_token=99998&limit=1000');
    expect(page.rows.map((row) => [row.index, row.values])).toEqual([
      [99_998, ['question 99998', 99_998]],
      [99_999, ['question 99999', 99_999]],
    ]);
    expect(page).toMatchObject({ paginated: false, next_starting_token: null });
    const all = await call('GET', `/datasets/${body.id}/content?limit=100000`);
    expect(all.body.rows).toHaveLength(100_000);
    const found = await call('POST', `/datasets/${body.id}/content/query?limit=2`, {
      filters: [{ column_name: 'input', value: 'question 7777', operator: 'contains' }],
      sort: { column_name: 'output', ascending: false },
    });
    expect(found.body.rows.map((row: { index: number }) => row.index)).toEqual([77_779, 77_778]);
    expect(found.body).toMatchObject({ paginated: true, next_starting_token: 2 });
  });
});

async function storedRows(): Promise<number> {
  const [row] = await service.clickhouse.query({
    name: 'count',
    sql: 'SELECT count() AS n FROM dataset_rows',
    row: (one) => one,
  });
  return Number((row as { n: string }).n);
}

describe('creating', () => {
  test('booleans come as text in any case, hidden from either place', async () => {
    const { body } = await service.upload('jsonl', '{"input":"x"}', { draft: 'True', hidden: 'False' }, '&hidden=true');
    expect(body.draft).toBe(true);
    const listed = await call('POST', '/datasets/query', { filters: [{ name: 'name', operator: 'contains', value: body.name }] });
    expect(listed.body.datasets).toEqual([]);
    const published = await call('PATCH', `/datasets/${body.id}`, { draft: false });
    expect(published.body.draft).toBe(false);
    expect((await call('PATCH', `/datasets/${body.id}`, { draft: true })).status).toBe(422);
  });

  test('a taken name is 409, unless a suffix is asked for', async () => {
    await upload([{ input: 1 }], { name: 'taken' });
    expect(await service.upload('jsonl', '{}', { name: 'taken' })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('"taken"') },
    });
    const names = await Promise.all(
      [1, 2, 3].map(
        async () => (await service.upload('jsonl', '{}', { name: 'taken', append_suffix_if_duplicate: 'true' })).body.name,
      ),
    );
    expect(names.sort()).toEqual(['taken (1)', 'taken (2)', 'taken (3)']);
  });

  test('a project is linked at once; one that the caller cannot see is 404', async () => {
    const [mine, theirs] = [await service.project(), await service.project(false)];
    const id = await upload([{ input: 1 }], { project_id: mine });
    expect((await call('GET', `/v2/datasets/${id}/projects?dataset_id=${id}`)).body.projects).toMatchObject([{ id: mine }]);
    expect((await service.upload('jsonl', '{}', { project_id: theirs })).status).toBe(404);
    await findDataset(service.datasets, { id, projectId: theirs });
    expect((await call('GET', `/datasets/${id}/projects`)).body.projects).toMatchObject([{ id: mine }]);
    expect((await call('GET', `/datasets/${id}`)).body.project_count).toBe(2);
    const listed = await call('POST', '/datasets/query', { filters: [{ name: 'used_in_project', value: mine }] });
    expect(listed.body.datasets).toMatchObject([{ id }]);
  });

  test('a copy, of a version', async () => {
    const source = await upload([{ input: 'one' }]);
    await call('PATCH', `/datasets/${source}/content`, { edits: [{ edit_type: 'append_row', values: { input: 'two' } }] });
    const copy = async (fields: Record<string, string>) => {
      const form = new FormData();
      for (const [key, value] of Object.entries({ name: newId(), copy_from_dataset_id: source, ...fields })) form.set(key, value);
      const created = await fetch(`${service.url}/datasets`, { method: 'POST', body: form });
      return dictsOf(((await created.json()) as { id: string }).id);
    };
    expect(await copy({})).toEqual([{ input: 'one' }, { input: 'two' }]);
    expect(await copy({ copy_from_dataset_version_index: '1' })).toEqual([{ input: 'one' }]);
  });

  test('a column mapping makes the known columns; a preview shows it without changing anything', async () => {
    const rows = [{ q: 'why?', a: 'because', level: 3, source: { book: 'x' }, other: 'o' }];
    const mapping = {
      input: ['q'],
      output: { columns: ['a'] },
      metadata: { columns: ['level', 'source'], flatten: true },
      mgt: null,
    };
    const expected = [{ input: 'why?', output: 'because', metadata: { level: 3, book: 'x' }, other: 'o' }];
    expect(await dictsOf(await upload(rows, { column_mapping: JSON.stringify(mapping) }))).toEqual(expected);

    const id = await upload(rows);
    const preview = await call('POST', `/datasets/${id}/preview`, { column_mapping: mapping });
    expect(preview.body.column_names).toEqual(['input', 'output', 'metadata', 'other']);
    expect(preview.body.rows[0].values_dict).toEqual(expected[0]);
    expect(await dictsOf(id)).toEqual(rows.map((row) => ({ ...row })));
    const mapped = await call('PATCH', `/datasets/${id}`, { column_mapping: mapping });
    expect(mapped.body).toMatchObject({ current_version_index: 2, column_names: ['input', 'output', 'metadata', 'other'] });
    expect(await dictsOf(id)).toEqual(expected);

    const unknown = await service.upload('jsonl', '{"q":1}', { column_mapping: '{"input":["nope"]}' });
    expect(unknown.status).toBe(422);
    expect(lineOf(unknown)?.msg).toContain('"nope"');
    expect((await service.upload('jsonl', '{"q":1}', { column_mapping: '{' })).status).toBe(422);
  });
});

describe('editing', () => {
  const edit = (id: string, edits: unknown[], headers: Record<string, string> = {}) =>
    call('PATCH', `/datasets/${id}/content`, { edits }, { headers });

  test('append as the clients do: ETag, If-Match, 204 without a body, a new ETag; a stale one is 412', async () => {
    const id = await upload([{ input: 'one', output: '1' }]);
    const { etag } = await contentOf(id, '?limit=1');
    const appended = await edit(id, [{ edit_type: 'append_row', values: { input: 'two', note: 'new' } }], { 'if-match': etag });
    expect(appended).toMatchObject({ status: 204, body: undefined });
    expect(appended.headers.get('etag')).toBe((await contentOf(id)).etag);
    expect(await dictsOf(id)).toEqual([
      { input: 'one', output: '1', note: null },
      { input: 'two', output: null, note: 'new' },
    ]);
    expect((await edit(id, [{ edit_type: 'append_row', values: {} }], { 'if-match': etag })).status).toBe(412);
    const unquoted = (await contentOf(id)).etag.replaceAll('"', '');
    expect((await edit(id, [{ edit_type: 'append_row', values: {} }], { 'if-match': unquoted })).status).toBe(204);
  });

  test('writers without a precondition do not lose each other', async () => {
    const id = await upload([{ input: 'first' }]);
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) => edit(id, [{ edit_type: 'append_row', values: { input: `w${n}` } }])),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(204));
    const inputs = (await dictsOf(id)).map((row) => row.input);
    expect(inputs.sort()).toEqual(['first', ...Array.from({ length: 8 }, (_, n) => `w${n}`)]);
  });

  test('row edits run in order, each on what the one before left; rows keep their ids', async () => {
    const id = await upload(Array.from({ length: 6 }, (_, n) => ({ input: `r${n}` })));
    const ids = (await contentOf(id)).rows.map((row) => row.row_id);
    const mine = newId();
    const reply = await edit(id, [
      { edit_type: 'update_row', row_id: ids[2], values: { output: 'x' } },
      { edit_type: 'delete_row', row_id: ids[4] },
      { edit_type: 'prepend_row', values: { input: 'top' }, row_id: mine },
      { edit_type: 'update_row', row_id: mine, values: { output: 'y' } },
      { edit_type: 'append_row', values: { input: 'gone' }, row_id: '6f2d6f6e-7d43-4b7e-8a53-0d5f3c1f0a11' },
      { edit_type: 'delete_row', row_id: '6f2d6f6e-7d43-4b7e-8a53-0d5f3c1f0a11' },
      { edit_type: 'update_row', row_id: ids[2], values: { input: 'r2 changed' } },
    ]);
    expect(reply.status).toBe(204);
    const after = await contentOf(id);
    expect(after.rows.map((row) => row.values)).toEqual([
      ['top', 'y'],
      ['r0', null],
      ['r1', null],
      ['r2 changed', 'x'],
      ['r3', null],
      ['r5', null],
    ]);
    expect(after.rows.map((row) => row.row_id)).toEqual([mine, ids[0], ids[1], ids[2], ids[3], ids[5]]);
    expect(after.rows[3]?.metadata).toMatchObject({ created_in_version: 1, updated_in_version: 2 });
    const [newest] = (await call('POST', `/datasets/${id}/versions/query`, {})).body.versions;
    expect(newest).toMatchObject({
      version_index: 2,
      rows_added: 1,
      rows_removed: 1,
      rows_edited: 1,
      columns_added: 1,
      num_rows: 6,
    });
  });

  test('columns are renamed and removed without touching older versions; a new column of an old name is empty', async () => {
    const id = await upload([{ input: 'a', extra: 'b' }]);
    await edit(id, [
      { edit_type: 'rename_column', column_name: 'input', new_column_name: 'question' },
      { edit_type: 'remove_column', column_name: 'extra' },
    ]);
    await edit(id, [{ edit_type: 'append_row', values: { extra: 'again' } }]);
    expect(await dictsOf(id)).toEqual([
      { question: 'a', extra: null },
      { question: null, extra: 'again' },
    ]);
    const old = await call('GET', `/datasets/${id}/versions/1/content`);
    expect(old.body.rows[0].values_dict).toEqual({ input: 'a', extra: 'b' });
  });

  test('filter_rows keeps the rows named, copy_record_data adds records', async () => {
    const project = await service.project();
    const id = await upload([{ input: 'a' }, { input: 'b' }, { input: 'c' }]);
    const rows = (await contentOf(id)).rows;
    const trace = newId();
    service.records.set(trace, { id: trace, input: [{ role: 'user', content: 'hi' }], output: 'ho', metadata: { k: 'v' } });
    const reply = await edit(id, [
      { edit_type: 'filter_rows', row_ids: [rows[2]?.row_id, rows[0]?.row_id] },
      { edit_type: 'copy_record_data', project_id: project, ids: [trace], use_generated_output_column: true },
    ]);
    expect(reply.status).toBe(204);
    expect(await dictsOf(id)).toEqual([
      { input: '[{"role":"user","content":"hi"}]', generated_output: 'ho', metadata: { k: 'v' } },
      { input: 'a', generated_output: null, metadata: null },
      { input: 'c', generated_output: null, metadata: null },
    ]);
    expect((await edit(id, [{ edit_type: 'copy_record_data', project_id: project, ids: [newId()] }])).status).toBe(422);
    expect((await edit(id, [{ edit_type: 'copy_record_data', project_id: newId(), ids: [trace] }])).status).toBe(404);
  });

  test('edits that cannot be applied are 422 in words, and nothing changes', async () => {
    const id = await upload([{ input: 'a', output: 'b' }]);
    const row = (await contentOf(id)).rows[0]?.row_id;
    const refused = [
      [{ edit_type: 'update_row', row_id: newId(), values: {} }],
      [
        { edit_type: 'append_row', values: { input: 'x' } },
        { edit_type: 'delete_row', row_id: newId() },
      ],
      [{ edit_type: 'append_row', values: {}, row_id: row }],
      [{ edit_type: 'remove_column', column_name: 'nope' }],
      [{ edit_type: 'rename_column', column_name: 'input', new_column_name: 'output' }],
      [
        { edit_type: 'append_row', values: {} },
        { edit_type: 'remove_column', column_name: 'input' },
      ],
      [{ edit_type: 'explode' }],
      [],
    ];
    for (const edits of refused) {
      const reply = await edit(id, edits);
      expect(reply.status).toBe(422);
      expect(lineOf(reply)?.loc.slice(0, 2)).toEqual(['body', 'edits']);
    }
    expect((await call('GET', `/datasets/${id}`)).body.current_version_index).toBe(1);
    expect((await edit(newId(), [{ edit_type: 'append_row', values: {} }])).status).toBe(404);
  });

  test('rollback makes an older content the newest; a copy replaces the content', async () => {
    const id = await upload([{ input: 'a' }]);
    await edit(id, [{ edit_type: 'append_row', values: { input: 'b' } }]);
    expect((await call('PUT', `/datasets/${id}/content`, { rollback_version: 1 })).status).toBe(204);
    expect(await dictsOf(id)).toEqual([{ input: 'a' }]);
    await edit(id, [{ edit_type: 'append_row', values: { input: 'c' } }]);
    expect(await dictsOf(id)).toEqual([{ input: 'a' }, { input: 'c' }]);
    const other = await upload([{ x: 1 }, { x: 2 }]);
    expect((await call('PUT', `/datasets/${id}/content`, { dataset_id: other })).status).toBe(204);
    expect(await dictsOf(id)).toEqual([{ x: 1 }, { x: 2 }]);
    expect((await call('PUT', `/datasets/${id}/content`, { rollback_version: 99 })).status).toBe(404);
    const names = await call('PATCH', `/datasets/${id}/versions/2`, { name: 'with b' });
    expect(names.body).toMatchObject({ version_index: 2, name: 'with b', num_rows: 2 });
  });

  test('a rollback says what it changes', async () => {
    const id = await upload([{ input: 'a' }, { input: 'b' }, { input: 'c' }, { input: 'd' }]);
    const rows = (await contentOf(id)).rows.map((row) => row.row_id);
    // The same number of rows: one edited, one gone, one new.
    await edit(id, [
      { edit_type: 'update_row', row_id: rows[0], values: { input: 'other', note: 'new column' } },
      { edit_type: 'delete_row', row_id: rows[1] },
      { edit_type: 'append_row', values: { input: 'e' } },
    ]);
    await edit(id, [{ edit_type: 'rename_column', column_name: 'input', new_column_name: 'question' }]);
    expect((await call('PUT', `/datasets/${id}/content`, { rollback_version: 1 })).status).toBe(204);
    const back = { rows_added: 1, rows_removed: 1, rows_edited: 1, columns_added: 0, columns_removed: 1, columns_renamed: 1 };
    const newest = async () => (await call('POST', `/datasets/${id}/versions/query`, {})).body.versions[0];
    expect(await newest()).toMatchObject({ version_index: 4, num_rows: 4, ...back });
    expect((await call('PUT', `/datasets/${id}/content`, { rollback_version: 3 })).status).toBe(204);
    expect(await newest()).toMatchObject({ version_index: 5, ...back, columns_added: 1, columns_removed: 0 });
    expect((await call('PUT', `/datasets/${id}/content`, { rollback_version: 3 })).status).toBe(204);
    const nothing = { rows_added: 0, rows_removed: 0, rows_edited: 0, columns_added: 0, columns_removed: 0, columns_renamed: 0 };
    expect(await newest()).toMatchObject({ version_index: 6, ...nothing });
    expect((await edit(id, [{ edit_type: 'filter_rows', row_ids: [rows[2]] }])).status).toBe(204);
    expect((await call('PUT', `/datasets/${id}/content`, { rollback_version: 1 })).status).toBe(204);
    expect(await newest()).toMatchObject({ rows_added: 3, rows_removed: 0, rows_edited: 0 });
  });
});

describe('finding', () => {
  test('every filter and sort answers, exact names exactly', async () => {
    const project = await service.project();
    const prefix = newId();
    const a = await upload([{ input: 1 }], { name: `${prefix} A`, project_id: project });
    const b = await upload([{ input: 1 }, { input: 2 }], { name: `${prefix} b_%`, draft: 'true' });
    const named = { name: 'name', operator: 'contains', value: prefix };
    const find = async (filters: unknown[], sort: unknown = { name: 'name' }) => {
      const reply = await call('POST', '/datasets/query?limit=1000', { filters: [named, ...filters], sort });
      expect(reply.status).toBe(200);
      return reply.body.datasets.map((dataset: { id: string }) => dataset.id);
    };
    expect(await find([])).toEqual([a, b]);
    expect(await find([{ name: 'name', operator: 'eq', value: `${prefix} a`, case_sensitive: false }])).toEqual([a]);
    expect(await find([{ name: 'name', operator: 'eq', value: `${prefix} a` }])).toEqual([]);
    expect(await find([{ name: 'name', operator: 'contains', value: '_%' }])).toEqual([b]);
    expect(await find([{ name: 'name', operator: 'not_in', value: [`${prefix} A`] }])).toEqual([b]);
    expect(await find([{ name: 'name', operator: 'ne', value: `${prefix} A` }])).toEqual([b]);
    expect(await find([{ name: 'draft', value: true }])).toEqual([b]);
    expect(await find([{ name: 'id', operator: 'one_of', value: [a.toUpperCase()] }])).toEqual([a]);
    expect(await find([{ name: 'id', value: b }])).toEqual([b]);
    expect(await find([{ name: 'used_in_project', value: project }])).toEqual([a]);
    expect(await find([{ name: 'not_in_project', value: project }])).toEqual([b]);
    for (const name of ['name', 'created_at', 'updated_at', 'project_count', 'num_rows'])
      for (const ascending of [true, false]) expect(await find([], { name, ascending })).toHaveLength(2);
    expect(await find([], { name: 'num_rows', ascending: false })).toEqual([b, a]);
    expect(await find([], { name: 'project_last_used_at', ascending: false, value: project })).toEqual([a, b]);
    expect(await find([], { name: 'last_edited_by_user_at', ascending: false, value: service.caller.userId })).toEqual([b, a]);
    expect((await call('POST', '/datasets/query/count', { filters: [named] })).body).toBe(2);
    expect((await call('POST', '/datasets/query', { filters: [{ name: 'name', operator: 'like', value: 'x' }] })).status).toBe(
      422,
    );
  });

  test('the list pages without repeats; actions nobody has give an empty list', async () => {
    const seen: string[] = [];
    for (let token: number | null = 0; token !== null; ) {
      const { body } = await call('GET', `/datasets?limit=3&starting_token=${token}`);
      seen.push(...body.datasets.map((dataset: { id: string }) => dataset.id));
      token = body.next_starting_token;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toHaveLength((await call('POST', '/datasets/query/count', {})).body);
    expect((await call('GET', '/datasets?actions=share&actions=update')).body.datasets.length).toBeGreaterThan(0);
    expect((await call('GET', '/datasets?actions=update&limit=1')).body.datasets).toHaveLength(1);
    expect((await call('GET', '/datasets?actions=fly')).status).toBe(422);
  });

  test('content is filtered and sorted by what cells show', async () => {
    const id = await upload([
      { input: 'Ten', n: 10 },
      { input: 'nine', n: 9 },
      { input: null, n: 'x' },
      { input: { k: "it's" }, n: null },
    ]);
    const find = async (body: unknown) =>
      (await call('POST', `/datasets/${id}/content/query`, body)).body.rows.map((row: { index: number }) => row.index);
    expect(await find(undefined)).toEqual([0, 1, 2, 3]);
    expect(await find({ filters: [{ column_name: 'input', value: 'T' }] })).toEqual([0, 3]);
    expect(await find({ filters: [{ column_name: 'input', value: 'Ten', operator: 'eq' }] })).toEqual([0]);
    expect(await find({ filters: [{ column_name: 'n', value: '9', operator: 'ne' }] })).toEqual([0, 2, 3]);
    expect(await find({ sort: { column_name: 'n' } })).toEqual([1, 0, 3, 2]);
    expect((await call('POST', `/datasets/${id}/content/query`, { sort: { column_name: 'nope' } })).status).toBe(422);
  });

  test('the keys of JSON inputs', async () => {
    const id = await upload([{ input: '{"question":"a","n":1}' }, { input: { question: 'b' } }, { input: 'plain' }]);
    const { body } = await call('GET', `/datasets/${id}/variable_preview`);
    const fields = Object.fromEntries(body.map((field: { key: string; values: unknown[] }) => [field.key, field.values.sort()]));
    expect(fields).toEqual({ question: ['a', 'b'], n: [1] });
  });

  test.each(['csv', 'jsonl'])('a %s download is the content, and can be uploaded again', async (format) => {
    const rows = [
      { input: 'a "b"\r\n', output: null, m: '' },
      { input: ' lead', output: '1', m: '日本' },
    ];
    const id = await upload(rows, { name: `naïve ${format}` });
    const reply = await fetch(`${service.url}/datasets/${id}/download?format=${format}`);
    expect(reply.headers.get('content-disposition')).toContain(`filename*=UTF-8''na%C3%AFve%20${format}.${format}`);
    const content = new Uint8Array(await reply.arrayBuffer());
    const marked = await fetch(`${service.url}/datasets/${id}/download?format=${format}&byte_order_mark=true`);
    const mark = format === 'csv' ? [0xef, 0xbb, 0xbf] : [];
    expect([...new Uint8Array(await marked.arrayBuffer())]).toEqual([...mark, ...content]);
    const again = await service.upload(format, content);
    expect(await dictsOf(again.body.id)).toEqual(rows);
  });
});

describe('deleting', () => {
  test('a deleted dataset is 404 and its name is free; a run still reads its rows, until none needs them', async () => {
    const id = await upload([{ input: 'kept', output: 'x' }], { name: 'short-lived' });
    expect(await call('DELETE', `/datasets/${id}`)).toMatchObject({ status: 200, body: null });
    for (const path of ['', '/content', '/versions/1/content', '/projects', '/download'])
      expect((await call('GET', `/datasets/${id}${path}`)).status).toBe(404);
    expect((await call('DELETE', `/datasets/${id}`)).status).toBe(404);
    await upload([{ input: 'new' }], { name: 'short-lived' });
    const store = datasetRowStore(service);
    expect(await store.range(id, 1, 0, 10)).toMatchObject([{ values: { input: 'kept', output: 'x' } }]);

    const project = await service.project();
    const [group, run] = [newId(), newId()];
    const by = service.caller.userId;
    await service.database.query("INSERT INTO experiment_groups (id, project_id, name) VALUES ($1, $2, 'g')", [group, project]);
    await service.database.query(
      "INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ($1, $2, 'experiment', 'e', $3)",
      [run, project, by],
    );
    await service.database.query('INSERT INTO experiments (run_id, project_id, group_id, dataset_id) VALUES ($1, $2, $3, $4)', [
      run,
      project,
      group,
      id,
    ]);
    const later = new Date(Date.now() + 60_000).toISOString();
    await purgeUnusedRows(service, later);
    expect(await store.rowCount(id, 1)).toBe(1);
    await service.database.query('DELETE FROM runs WHERE id = $1', [run]);
    await purgeUnusedRows(service, later);
    await expect(store.rowCount(id, 1)).rejects.toMatchObject({ code: 'NotFound' });
    expect(await service.rows.keysOf(id, [])).toEqual([]);
    const [left] = await service.clickhouse.query({
      name: 'count',
      sql: 'SELECT count() AS n FROM dataset_rows WHERE owner_id = {id:UUID}',
      params: { id },
      row: (row) => row,
    });
    expect(left).toEqual({ n: '0' });
  });

  test('many at once: the unknown are named', async () => {
    const [a, b] = [await upload([{}]), await upload([{}])];
    const unknown = newId();
    const { body } = await call('DELETE', '/datasets/bulk_delete', { dataset_ids: [a, b, unknown] });
    expect(body).toMatchObject({ deleted_count: 2, failed_deletions: [{ dataset_id: unknown }] });
    expect((await call('DELETE', '/datasets/bulk_delete', { dataset_ids: [] })).status).toBe(422);
  });
});

describe('rows for experiments', () => {
  test('a range of a version that was edited, and past its end', async () => {
    const id = await upload(Array.from({ length: 10 }, (_, n) => ({ input: `r${n}` })));
    const rows = (await contentOf(id)).rows;
    await call('PATCH', `/datasets/${id}/content`, {
      edits: [
        { edit_type: 'delete_row', row_id: rows[3]?.row_id },
        { edit_type: 'update_row', row_id: rows[5]?.row_id, values: { input: 'five' } },
      ],
    });
    const store = datasetRowStore(service);
    const inputs = async (version: number, from: number, to: number) =>
      (await store.range(id, version, from, to)).map((row) => [row.ordinal, row.values.input]);
    expect(await inputs(2, 2, 6)).toEqual([
      [2, 'r2'],
      [3, 'r4'],
      [4, 'five'],
      [5, 'r6'],
    ]);
    expect(await inputs(1, 3, 5)).toEqual([
      [3, 'r3'],
      [4, 'r4'],
    ]);
    expect(await inputs(2, 8, 100)).toEqual([[8, 'r9']]);
    expect(await inputs(2, 9, 100)).toEqual([]);
    expect(await store.rowCount(id, 2)).toBe(9);
    expect(await store.columnNames(id, 2)).toEqual(['input']);
    await expect(store.range(id, 7, 0, 1)).rejects.toMatchObject({ code: 'NotFound' });
  });

  test('records of one run: stored once however often, ids from run and position', async () => {
    const runId = newId();
    const records = [
      { input: { question: 'a' }, output: 1 },
      { input: 'b', extra: [1, 2] },
    ];
    const [first, second] = await Promise.all([storeRunRows(service, runId, records), storeRunRows(service, runId, records)]);
    expect(first).toEqual({ rowCount: 2, columnNames: ['input', 'output', 'extra'] });
    expect(second).toEqual(first);
    const rows = await rowsOfRuns(service).page(runId, 0, 100);
    expect(rows.map((row) => row.values)).toEqual([
      { input: { question: 'a' }, output: 1, extra: null },
      { input: 'b', output: null, extra: '[1,2]' },
    ]);
    expect(await storeRunRows(service, runId, records)).toEqual(first);
    expect((await rowsOfRuns(service).page(runId, 1, 2))[0]?.rowId).toBe(rows[1]?.rowId);
    expect(await rowsOfRuns(service).inputFields(runId)).toEqual(['question']);
    await purgeUnusedRows(service, new Date(Date.now() + 60_000).toISOString());
    await expect(rowsOfRuns(service).rowCount(runId)).rejects.toMatchObject({ code: 'NotFound' });
  });

  test('a page holds some MB of rows, however large they are and in whatever order; ids are read without them', async () => {
    const runId = newId();
    const size = (index: number) => (index === 20 ? 20_000_000 : index > 30 ? 100 : 1_000_000);
    const records = Array.from({ length: 60 }, (_, index) => ({ input: `${index} `.padEnd(size(index), 'x') }));
    await storeRunRows(service, runId, records);
    const store = rowsOfRuns(service);
    const found: string[] = [];
    for (let from = 0; from < records.length; ) {
      const page = await store.page(runId, from, records.length);
      const inputs = page.map(({ values }) => String(values.input));
      const bytes = inputs.reduce((sum, { length }) => sum + length, 0);
      expect(page.map(({ ordinal }) => ordinal)).toEqual(page.map((_, index) => from + index));
      if (page.length > 1) expect(bytes).toBeLessThan(17_000_000);
      expect(page.length).toBeGreaterThan(0);
      found.push(...inputs);
      from += page.length;
    }
    expect(found.map((text) => text.length)).toEqual(records.map(({ input }) => input.length));
    expect(await store.ids(runId, 0, 1_000)).toHaveLength(60);
    const [eleventh] = await store.page(runId, 10, 11);
    expect((await store.ids(runId, 10, 12))[0]).toBe(eleventh?.rowId);
  });

  test('what a row gives to its record', () => {
    const row = (values: Parameters<typeof toExperimentRow>[0]['values']) => toExperimentRow({ rowId: 'r', ordinal: 4, values });
    expect(
      row({ input: '{"q": "a"}', ground_truth: 'g', output: null, metadata: '{"k": 1}', generated_output: 7, topic: 't' }),
    ).toEqual({
      rowId: 'r',
      ordinal: 4,
      input: '{"q": "a"}',
      expected: 'g',
      metadata: { k: '1' },
      generatedOutput: '7',
      variables: { input: { q: 'a' }, ground_truth: 'g', output: null, metadata: '{"k": 1}', generated_output: 7, topic: 't' },
    });
    expect(row({ input: { a: 1 }, output: 2, ground_truth: 'g', metadata: 'free text' })).toMatchObject({
      input: '{"a":1}',
      expected: '2',
      metadata: { metadata: 'free text' },
      variables: { input: { a: 1 } },
    });
    expect(row({ input: '1.0' }).variables.input).toBe('1.0');
    expect(row({ input: '42' }).variables.input).toBe(42);
    expect(row({ input: 'null' }).variables.input).toBe('null');
    expect(row({ output: 'x' })).toMatchObject({ input: '', expected: 'x', metadata: {}, generatedOutput: null });
  });

  test('a row without an input has the one of its other columns', () => {
    const row = (values: Parameters<typeof toExperimentRow>[0]['values']) => toExperimentRow({ rowId: 'r', ordinal: 4, values });
    const input = (values: Parameters<typeof row>[0]) => row(values).input;
    expect(input({ question: 'Who?', output: 'Ada', ground_truth: 'g', metadata: 'm', generated_output: 'o' })).toBe('Who?');
    expect(input({ question: 'Who?', Expected: 'Ada', reference_answer: 'Ada' })).toBe('Who?');
    expect(input({ question: 'Who?', context: 'c' })).toBe('{"question":"Who?","context":"c"}');
    expect(input({ question: 'Who?', context: null })).toBe('{"question":"Who?"}');
    expect(input({ question: { a: 1.5 }, context: '' })).toBe('{"question":{"a":1.5}}');
    expect(input({ a: '12345678901234567890', b: '[1.50, 12345678901234567890]', c: '{{x}}' })).toBe(
      '{"a":"12345678901234567890","b":[1.50, 12345678901234567890],"c":"{{x}}"}',
    );
    expect(input({ a: null, b: '' })).toBe('');
    // Where there is a column `input`, an empty cell is what runners and templates are given; the record says what the row asks.
    for (const empty of [null, '', ' ']) {
      const one = row({ input: empty, topic: 'birds' });
      expect(one.input).toBe('birds');
      expect(givenInput(one)).toBe(empty ?? '');
      expect(templateVariables(one)).toEqual({ input: empty ?? '', topic: 'birds' });
    }
    expect(givenInput(row({ topic: 'birds' }))).toBe('birds');
    expect(givenInput(row({ input: { a: 1 } }))).toBe('{"a":1}');
    expect(templateVariables(row({ topic: 'birds' }))).toEqual({ topic: 'birds' });
  });
});
