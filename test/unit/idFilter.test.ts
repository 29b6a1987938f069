import { randomBytes } from 'node:crypto';
import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { IdFilter } from '../../shared/stores/clickhouse/embedded/idFilter.ts';

const bytesOf = (ids: readonly string[]): Buffer => Buffer.from(ids.join('').replaceAll('-', ''), 'hex');
const counted = (number: number): string => `00000000-0000-0000-0000-${number.toString(16).padStart(12, '0')}`;
const ids = fc.array(fc.oneof(fc.uuid(), fc.nat().map(counted)), { maxLength: 200 });

test.prop([ids, ids])('every id that was added is known, by its text or its bytes, in either case', (texts, bytes) => {
  const filter = new IdFilter();
  for (const id of texts) filter.add(id);
  filter.addBytes(bytesOf(bytes));
  const all = [...texts, ...bytes];
  for (const id of all) expect([filter.mayHave(id), filter.mayHave(id.toUpperCase())]).toEqual([true, true]);
  expect(filter.size).toBe(new Set(all).size);
});

const makers: [string, (index: number) => string][] = [
  ['random', newId],
  ['counted', counted],
  ['counted in their first digits', (index) => `${counted(index).slice(-8)}-0000-4000-8000-000000000000`],
];

test('of two hundred thousand ids next to none are taken for one of two million that were added', () => {
  const filter = new IdFilter();
  const bytes = randomBytes(16 * 2_000_000);
  filter.addBytes(bytes);
  const others = Array.from({ length: 200_000 }, newId);
  expect(others.filter((id) => filter.mayHave(id)).length).toBeLessThan(20);
});

test.each(makers)('of a hundred thousand %s ids that were not added next to none are taken for added ones', (_name, make) => {
  const filter = new IdFilter();
  for (let index = 0; index < 100_000; index++) filter.add(make(index));
  const others = Array.from({ length: 100_000 }, (_, index) => make(100_000 + index));
  expect(others.filter((id) => filter.mayHave(id)).length).toBeLessThan(20);
  expect(filter.bytes).toBeLessThan(2 * 1024 * 1024);
});
