import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StoredRecord } from '../../shared/records/record.ts';
import { startSearchService } from '../support/searchService.ts';

const MEGABYTE = 1024 * 1024;

let service: Awaited<ReturnType<typeof startSearchService>>;
let traces: StoredRecord[];

beforeAll(async () => {
  service = await startSearchService();
  traces = Array.from({ length: 50 }, (_, n) =>
    service.record({
      created_at: `2026-03-01T12:00:${String(n % 60).padStart(2, '0')}.${String(100_000 + n)}Z`,
      input: `${n} `.padEnd(MEGABYTE, 'x'),
    }),
  );
  for (let from = 0; from < traces.length; from += 20) await service.store(traces.slice(from, from + 20));
  for (const [n, trace] of traces.entries()) await service.score(trace, 'place', { status_type: 'success', value: n }, 1);
});
afterAll(() => service[Symbol.asyncDispose]());

interface Page {
  records: { id: string }[];
  num_rows: number;
  paginated: boolean;
  starting_token: number;
  next_starting_token: number | null;
  last_row_id: string;
}

/** Every id, as a client reads it that follows the token; `more` makes the body of the next page. */
async function allPages(body: object, more: (page: Page) => object = () => ({})) {
  const found: string[] = [];
  const sizes: number[] = [];
  let next: object | undefined = {};
  while (next) {
    const { status, body: page }: { status: number; body: Page } = await service.post('traces/search', { ...body, ...next });
    expect(status).toBe(200);
    expect(page).toMatchObject({ num_rows: traces.length, paginated: page.next_starting_token !== null });
    sizes.push(JSON.stringify(page).length);
    found.push(...page.records.map(({ id }) => id));
    next = page.next_starting_token === null ? undefined : { starting_token: page.next_starting_token, ...more(page) };
  }
  return { found, sizes };
}

const newestFirst = () => [...traces].sort((one, two) => (one.created_at < two.created_at ? 1 : -1)).map(({ id }) => id);

test.each([1_000, 5_000])(
  'a page of %i traces of 1 MB ends before it is too large, and says where the next one begins',
  async (limit) => {
    const { found, sizes } = await allPages({ limit });
    expect(found).toEqual(newestFirst());
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThan(34 * MEGABYTE);
  },
);

test('so does a page behind a cursor, and one in the order of a metric', async () => {
  const behind = await allPages({ limit: 1_000 }, ({ last_row_id }) => ({ previous_last_row_id: last_row_id }));
  expect(behind.found).toEqual(newestFirst());
  const sort = { column_id: 'metrics/place', ascending: true };
  const sorted = await allPages({ limit: 1_000, sort });
  expect(sorted.found).toEqual(traces.map(({ id }) => id));
  expect(Math.max(...behind.sizes, ...sorted.sizes)).toBeLessThan(34 * MEGABYTE);
});

test('a page without the texts is not cut', async () => {
  const { body } = await service.post('traces/partial_search', { limit: 1_000, select_columns: { column_ids: ['name'] } });
  expect(body.records).toHaveLength(traces.length);
  expect(body.next_starting_token).toBeNull();
});
