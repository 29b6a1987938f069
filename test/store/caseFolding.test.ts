import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { foldCase } from '../../shared/identifiers/foldCase.ts';
import { contains } from '../../shared/metrics/contains.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { createBinder, textCondition } from '../../shared/stores/postgres/conditions.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';

/** Texts of one line differ in case alone. */
const alike: string[][] = [
  ['ΟΔΥΣΣΕΥΣ', 'οδυσσευς', 'οδυσσευσ', 'Οδυσσευς'],
  ['Straße', 'STRASSE', 'strasse', 'STRAẞE'],
  ['Été', 'ÉTÉ', 'été'],
  ['ﬁne', 'FINE', 'fine'],
  ['ſet', 'SET', 'set'],
  ['273 \u212a', '273 K', '273 k'],
  ['ǅep', 'ǆep', 'ǄEP'],
  ['ΤΩ\u0345', 'τωι', 'ΤΩΙ'],
  ['Ꭰ', 'ꭰ'],
];
const apart: [string, string][] = [
  ['ı', 'i'],
  ['ı', 'I'],
  ['ISPARTA', 'ısparta'],
  ['é', 'e'],
  ['é', 'e\u0301'],
];

/** Every character of the planes that have letters with a case. */
const characters = Array.from({ length: 0x1ffff }, (_, at) => at)
  .filter((code) => code > 0 && (code < 0xd800 || code > 0xdfff))
  .map((code) => String.fromCodePoint(code));

/** By character the first one that folds alike. */
function classesOf(folded: readonly string[]): (string | undefined)[] {
  const first = new Map<string, string>();
  for (const [at, fold] of folded.entries()) if (!first.has(fold)) first.set(fold, characters[at] as string);
  return folded.map((fold) => first.get(fold));
}

test.each(alike)('%s and %s differ in case alone', (...texts) => {
  expect(new Set(texts.map(foldCase)).size).toBe(1);
});
test.each(apart)('%s and %s differ in more than case', (one, other) => {
  expect(foldCase(one)).not.toBe(foldCase(other));
});
test('a text that was folded folds to itself', () => {
  expect(characters.filter((one) => foldCase(foldCase(one)) !== foldCase(one))).toEqual([]);
});

test('the metric `contains` finds a part whose Σ ends a word only there', async () => {
  const score = (output: string, datasetOutput: string) =>
    contains.score({ output, datasetOutput } as never, { signal: new AbortController().signal } as never);
  expect(await score('ΟΔΥΣΣΕΥΣ', 'οδυσ')).toEqual({ value: true });
  expect(await score('οδυσσέα', 'ΟΔΥΣΣ')).toEqual({ value: true });
});

test('the engine folds every character as a filter in memory does', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-folding-'));
  const clickhouse = openClickHouse({ dataDir });
  onTestFinished(async () => {
    await clickhouse.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const [row] = await clickhouse.query({
    name: 'folded',
    sql: `SELECT arrayMap(text -> caseFoldUTF8(text), splitByChar('\n', {texts:String})) AS folded`,
    params: { texts: characters.filter((one) => one !== '\n').join('\n') },
    row: z.object({ folded: z.array(z.string()) }),
  });
  const folded = [...(row?.folded ?? [])];
  folded.splice(characters.indexOf('\n'), 0, '\n');
  const [own, engine] = [classesOf(characters.map(foldCase)), classesOf(folded)];
  expect(characters.filter((_, at) => engine[at] !== own[at])).toEqual([]);
});

describe('in Postgres', () => {
  let directory: string;
  let database: Database;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'assay-folding-'));
    database = await openSeededDatabase(join(directory, 'postgres'));
  });
  afterAll(async () => {
    await database.close();
    await rm(directory, { recursive: true, force: true });
  });
  const fits = async (text: string, operator: 'eq' | 'ne' | 'contains', value: string | string[]) => {
    const { bind, values } = createBinder();
    const condition = textCondition(bind(text, 'text'), { operator, value, caseSensitive: false }, bind);
    return (await database.maybeOne(`SELECT ${condition} AS fits`, values))?.fits;
  };

  test.each(alike)('%s and %s differ in case alone', async (first, ...others) => {
    for (const other of others) {
      expect([await fits(first as string, 'eq', other), await fits(other, 'eq', ['-', first as string])]).toEqual([true, true]);
      expect([await fits(`(${first})`, 'contains', other), await fits(first as string, 'ne', other)]).toEqual([true, false]);
    }
  });
  test.each(apart)('%s and %s differ in more than case', async (one, other) => {
    expect([await fits(one, 'eq', other), await fits(other, 'contains', one)]).toEqual([false, false]);
  });
});
