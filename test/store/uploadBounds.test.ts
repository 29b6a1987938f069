import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { FormReader } from '../../api/http/readForm.ts';
import type { AssetViewer } from '../../shared/assets/assetAccess.ts';
import { createDataset } from '../../shared/datasets/createDataset.ts';
import { editContent } from '../../shared/datasets/editContent.ts';
import { readRows } from '../../shared/datasets/readRows.ts';
import { storeRunRows } from '../../shared/datasets/rowStore.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { DatasetEdit, DatasetFormat } from '../../shared/wire/datasets.ts';
import { type AssetService, startAssetService } from '../support/assetService.ts';

let folder: string;
let service: AssetService;
beforeAll(async () => {
  service = await startAssetService();
  folder = await mkdtemp(join(tmpdir(), 'assay-upload-bounds-'));
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

const small = () => ({ datasets: service.datasets, rows: service.rows, limits: { rows: 3, columns: 2 } });
const viewer: AssetViewer = { userId: newId(), everything: true, limited: false, projects: [], grants: [] };
const create = (format: DatasetFormat, text: string) =>
  createDataset(small(), {
    viewer,
    ...{ name: newId(), appendSuffix: false, columnMapping: undefined, projectId: undefined, hidden: false, draft: false },
    content: { file: new Blob([text]), format },
    userId: service.caller.userId,
  });
const edit = (datasetId: string, edits: DatasetEdit[]) =>
  editContent(small(), {
    ...{ datasetId, edits, userId: service.caller.userId, readRecords: async () => [], isExpected: () => true },
  });
const refusal = (type: string, msg: RegExp) => ({ items: [{ type, msg: expect.stringMatching(msg) }] });

describe('a dataset', () => {
  test('has at most so many rows and columns, whatever the file', async () => {
    for (const [format, rows, columns] of [
      ['csv', `a\n${'1\n'.repeat(4)}`, 'a,b,c\n1,2,3'],
      ['jsonl', '{"a":1}\n'.repeat(4), '{"a":1}\n{"b":1}\n{"c":1}'],
      ['json', `[${'{"a":1},'.repeat(3)}{"a":1}]`, '[{"a":1,"b":1,"c":1}]'],
    ] as const) {
      await expect(create(format, rows)).rejects.toMatchObject(refusal('too_many_rows', /at most 3 rows; send fewer/));
      await expect(create(format, columns)).rejects.toMatchObject(refusal('too_many_columns', /at most 2 columns; send fewer/));
    }
    expect(await create('csv', 'a,b\n1,2\n1,2\n1,2\n')).toMatchObject({ numRows: 3 });
  });

  test('is edited within the same bounds', async () => {
    const { id } = await create('csv', 'a,b\n1,2\n1,2\n');
    const row = (values: Record<string, unknown>): DatasetEdit => ({ edit_type: 'append_row', values });
    await expect(edit(id, [row({ a: 1 }), row({ a: 1 })])).rejects.toMatchObject(refusal('too_many_rows', /3 rows/));
    await expect(edit(id, [row({ c: 1 })])).rejects.toMatchObject(refusal('too_many_columns', /2 columns/));
    await edit(id, [row({ a: 1 })]);
    const found = await service.datasets.find({ id });
    expect(found).toMatchObject({ numRows: 3 });
  });

  test('is stored for a run within the same bounds', async () => {
    await expect(storeRunRows(small(), newId(), [{ a: 1 }, { b: 1 }, { c: 1 }])).rejects.toMatchObject(
      refusal('too_many_columns', /2 columns/),
    );
  });
});

describe('an upload', () => {
  test('with 100,000 columns is refused by the number of columns, not by each of their names', async () => {
    const header = Array.from({ length: 100_000 }, (_, index) => `column ${index}`).join(',');
    const { status, body } = await service.upload('csv', `${header}\n`);
    expect([status, body.detail[0].type]).toEqual([422, 'too_many_columns']);
    expect(JSON.stringify(body).length).toBeLessThan(500);
  });

  test('whose mapping names columns that do not exist names some of them', async () => {
    const input = Array.from({ length: 5_000 }, (_, index) => `no ${index}`);
    const csv = `${Array.from({ length: 900 }, (_, index) => `column ${index}`).join(',')}\n`;
    const { status, body } = await service.upload('csv', csv, { column_mapping: JSON.stringify({ input }) });
    expect([status, body.detail.length]).toEqual([422, 20]);
    expect(body.detail[0].msg).toMatch(/column 19 and 880 more$/);
  });

  test('with a row that nests deep is refused at its line', async () => {
    const deep = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    const { status, body } = await service.upload('jsonl', `{"a":1}\n${deep}`);
    expect([status, body.detail[0].msg]).toEqual([422, 'line 2: the row nests too deep']);
  });

  test.each([
    ['csv', '1\n'.repeat(200_000)],
    ['jsonl', '{"a":1}\n'.repeat(100_000)],
    ['json', `[${'{},'.repeat(100_000)}{}]`],
  ] as const)('of short rows (%s) lets the event loop go on between them', async (format, text) => {
    let rowsOfTurn = 0;
    let most = 0;
    let isOver = false;
    const turn = () => {
      most = Math.max(most, rowsOfTurn);
      rowsOfTurn = 0;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    let rows = 0;
    for await (const _row of readRows(format, new Blob([text]), () => {})) {
      rows += 1;
      rowsOfTurn += 1;
    }
    isOver = true;
    expect(rows).toBeGreaterThan(90_000);
    expect(Math.max(most, rowsOfTurn)).toBeLessThan(30_000);
  });

  test('that unpacks to many rows is taken while others are answered', async () => {
    const boundary = 'of-the-form';
    const part = (name: string, text: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${name === 'file' ? '; filename="f"' : ''}\r\n\r\n${text}\r\n`;
    const form = `${part('file', '1\n'.repeat(50_000))}${part('name', newId())}--${boundary}--\r\n`;
    const packed = gzipSync(form);
    expect(packed.length).toBeLessThan(2_000);
    let isAnswered = false;
    const uploading = fetch(`${service.url}/datasets?format=csv`, {
      method: 'POST',
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-encoding': 'gzip' },
      body: packed,
    }).then(async (response) => {
      isAnswered = true;
      return response.json();
    });
    let others = 0;
    while (!isAnswered) {
      expect((await service.request('POST', '/datasets/query/count', { json: {} })).status).toBe(200);
      others += 1;
    }
    expect(await uploading).toMatchObject({ num_rows: 49_999 });
    expect(others).toBeGreaterThan(10);
  });
});

describe('a form', () => {
  const BOUNDARY = 'a-b';
  const TYPE = `multipart/form-data; charset=utf-8; boundary="${BOUNDARY}"`;
  const read = async (text: string, size: number, type = TYPE) => {
    await using form = new FormReader(type);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) await form.add(bytes.subarray(at, at + size));
    const parts = Object.entries(await form.end());
    return Object.fromEntries(
      await Promise.all(
        parts.map(async ([name, value]) => [name, value instanceof File ? [value.name, await value.text()] : value] as const),
      ),
    );
  };
  const text = [
    'what comes before is no part\r\n',
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="gr%22o\\"ß"\r\nContent-Type: text/csv\r\n\r\na\r\n--a-\r\n--b\r\n\r\n`,
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name=other; filename*=UTF-8''na%C3%AFve.csv\r\n\r\n\r\n`,
    `--${BOUNDARY}  \r\nContent-Disposition: form-data; name="text"\r\n\r\nfirst\r\n`,
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="text"\r\n\r\nlast\r\n`,
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="long"\r\n\r\n${'x'.repeat(70_000)}\r\n`,
    `--${BOUNDARY}--\r\nwhat comes after is none`,
  ].join('');

  test.each([1, 2, 3, 7, 100, 1_000_000])('has the same parts in pieces of %d bytes', async (size) => {
    const some = size === 1 ? text.replace('x'.repeat(69_000), '') : text;
    expect(await read(some, size)).toEqual({
      file: ['gr"o"ß', 'a\r\n--a-\r\n--b\r\n'],
      other: ['naïve.csv', ''],
      text: 'last',
      long: size === 1 ? 'x'.repeat(1_000) : ['', 'x'.repeat(70_000)],
    });
  });

  test('that is none is refused, and leaves nothing in the folder for temporary files', async () => {
    const { TMPDIR } = process.env;
    process.env.TMPDIR = folder;
    onTestFinished(() => {
      if (TMPDIR === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = TMPDIR;
    });
    const none = { items: [{ type: 'form_invalid' }] };
    await expect(read(text.slice(0, -40), 50)).rejects.toMatchObject(none);
    await expect(read(text, 50, 'multipart/form-data')).rejects.toMatchObject(none);
    await expect(read(text, 50, 'text/plain; boundary=a-b')).rejects.toMatchObject(none);
    await expect(read(`--${BOUNDARY}\r\n${'x'.repeat(20_000)}`, 1_000)).rejects.toMatchObject(none);
    await expect(read(`--${BOUNDARY}\r\nContent-Type: text/csv\r\n\r\n`, 1_000)).rejects.toMatchObject(none);
    await expect(read('', 1)).resolves.toEqual({});
    expect((await service.upload('csv', 'a\n1\n')).status).toBe(200);
    expect((await service.upload('csv', 'a\n1,2\n')).status).toBe(422);
    await expect.poll(() => readdir(folder)).toEqual([]);
  });
});
