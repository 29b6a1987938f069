import { setImmediate as nextTurn } from 'node:timers/promises';
import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, expect } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { startRecordService } from '../support/recordService.ts';

/** 20 s on a machine that has nothing else to do. */
const PATIENCE_MS = 300_000;

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  service = await startRecordService({});
});
afterAll(() => service[Symbol.asyncDispose]());

interface Page {
  records: { id: string; created_at: string }[];
  num_rows: number;
  paginated: boolean;
  next_starting_token: number | null;
  last_row_id: string | null;
}
type Space = ReturnType<typeof service.space>;

// Few different times, so that pages are cut between records of one time.
const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
const trace = (second: number, name: string) => ({
  id: newId(),
  name,
  created_at: at(second),
  input: name,
  tags: ['logged'],
  metrics: { age: -second },
});

async function log(space: Space, traces: object[]): Promise<void> {
  expect((await space.post('/traces', { traces })).status).toBe(200);
}

/** Reads every page; `follow` says how the next one is asked for. */
async function readPages(space: Space, body: object, follow: (page: Page) => object): Promise<Page['records']> {
  const found: Page['records'] = [];
  for (let next: object | undefined = {}; next; ) {
    const { status, body: page } = (await space.post('/traces/search', { ...body, ...next })) as { status: number; body: Page };
    expect(status).toBe(200);
    found.push(...page.records);
    expect(page.paginated).toBe(page.next_starting_token !== null);
    next = page.paginated ? follow(page) : undefined;
    await nextTurn();
  }
  return found;
}

const scenario = fc.record({
  before: fc.integer({ min: 1, max: 25 }),
  limit: fc.integer({ min: 2, max: 12 }),
  /** Second of each record that is logged meanwhile: before, among and after those that are there. */
  meanwhile: fc.array(fc.integer({ min: -3, max: 9 }), { minLength: 1, maxLength: 10 }),
  updates: fc.array(fc.nat({ max: 24 }), { maxLength: 6 }),
});

/** Logs new traces and changes old ones until the reader is done; returns when both are. */
async function whileWriting<T>(
  space: Space,
  ids: readonly string[],
  { meanwhile, updates }: Writes,
  read: Promise<T>,
): Promise<T> {
  const logging = async () => {
    for (const second of meanwhile) await log(space, [trace(second, 'meanwhile')]);
  };
  const changing = async () => {
    for (const n of updates) {
      const id = ids[n % ids.length] as string;
      const change = { trace_id: id, output: `changed ${n}`, tags: ['changed'], status_code: n };
      expect((await space.patch(`/traces/${id}`, change)).status).toBe(200);
    }
  };
  return (await Promise.all([read, logging(), changing()]))[0];
}
type Writes = Pick<typeof scenario extends fc.Arbitrary<infer S> ? S : never, 'meanwhile' | 'updates'>;

/** Five records of each time, cut between two of one. */
const tied = { before: 25, limit: 7, meanwhile: [0], updates: [] as number[] };

const once = (ids: readonly string[]) => expect(new Set(ids).size).toBe(ids.length);

test.prop([scenario, fc.boolean()], { numRuns: 8 })(
  'by cursor: whatever is logged and changed meanwhile, each record that was there comes once and in order, no other one twice',
  async ({ before, limit, ...writes }, ascending) => {
    const space = service.space();
    const old = Array.from({ length: before }, (_, n) => trace(n % 5, `old ${n}`));
    await log(space, old);
    const body = { limit, ...(ascending ? { sort: { name: 'created_at', ascending } } : {}) };
    const pages = readPages(space, body, ({ last_row_id }) => ({ previous_last_row_id: last_row_id }));
    const ids = old.map(({ id }) => id);
    const found = await whileWriting(space, ids, writes, pages);
    const foundIds = found.map(({ id }) => id);
    once(foundIds);
    expect(foundIds.filter((id) => ids.includes(id)).sort()).toEqual([...ids].sort());
    const times = found.map(({ created_at }) => created_at);
    expect(times).toEqual(ascending ? [...times].sort() : [...times].sort().reverse());
  },
  PATIENCE_MS,
);

test.prop([scenario], { numRuns: 5 })(
  'by token, oldest first: what is logged later comes behind, so no record is lost and none comes twice',
  async ({ before, limit, meanwhile, updates }) => {
    const space = service.space();
    const old = Array.from({ length: before }, (_, n) => trace(n % 5, `old ${n}`));
    await log(space, old);
    const body = { limit, sort: { column_id: 'created_at', ascending: true } };
    const pages = readPages(space, body, ({ next_starting_token }) => ({ starting_token: next_starting_token }));
    const ids = old.map(({ id }) => id);
    // Each later than the one before it: among records of one time the ids decide.
    const later = meanwhile.map((_, n) => n + 20);
    const found = await whileWriting(space, ids, { meanwhile: later, updates }, pages);
    const foundIds = found.map(({ id }) => id);
    once(foundIds);
    expect(foundIds.filter((id) => ids.includes(id)).sort()).toEqual([...ids].sort());
  },
  PATIENCE_MS,
);

const newestFirst = [{}, { sort: { column_id: 'metrics/age', ascending: true } }];

test.prop([scenario, fc.constantFrom(...newestFirst)], { numRuns: 8 })(
  'by token, newest first: newer records push others to the next page, where they may come again; none is lost',
  async ({ before, limit, meanwhile, updates }, order) => {
    const space = service.space();
    const old = Array.from({ length: before }, (_, n) => trace(n % 5, `old ${n}`));
    await log(space, old);
    const pages = readPages(space, { limit, ...order }, ({ next_starting_token }) => ({
      pagination: { limit, starting_token: next_starting_token },
    }));
    const ids = old.map(({ id }) => id);
    const found = await whileWriting(space, ids, { meanwhile: meanwhile.map((second) => second + 20), updates }, pages);
    const foundIds = new Set(found.map(({ id }) => id));
    expect(ids.filter((id) => !foundIds.has(id))).toEqual([]);
  },
  PATIENCE_MS,
);

type Traced = ReturnType<typeof trace>;
/** Returns what a trace has in each of the columns that are sorted by. */
const sorted: Readonly<Record<string, (of: Traced) => string | number>> = {
  created_at: (of) => of.created_at,
  name: (of) => of.name,
  id: (of) => of.id,
  input: (of) => of.input,
  'metrics/age': (of) => of.metrics.age,
};
const compare = <T>(one: T, other: T): number => (one < other ? -1 : one > other ? 1 : 0);
const orders = [undefined, ...Object.keys(sorted).flatMap((name) => [true, false].map((ascending) => ({ name, ascending })))];

test.prop([scenario, fc.constantFrom(...orders)], {
  numRuns: 8,
  examples: orders.map((order): [typeof tied, typeof order] => [tied, order]),
})(
  'while nobody writes, tokens and cursors give the whole in any order, records alike in it newest first and of one time by the texts of their ids',
  async ({ before, limit }, sort) => {
    const space = service.space();
    const old = Array.from({ length: before }, (_, n) => trace(n % 5, `old ${n % 7}`));
    await log(space, old);
    const value = sort ? sorted[sort.name] : undefined;
    const wanted = [...old].sort(
      (one, other) =>
        (value ? compare(value(one), value(other)) * (sort?.ascending ? 1 : -1) : 0) ||
        compare(other.created_at, one.created_at) ||
        compare(other.id, one.id),
    );
    const body = { limit, ...(sort ? { sort } : {}) };
    const byToken = await readPages(space, body, ({ next_starting_token }) => ({ starting_token: next_starting_token }));
    const byCursor = await readPages(space, body, ({ last_row_id }) => ({ previous_last_row_id: last_row_id }));
    expect(byToken.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
    expect(byCursor.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
  },
  PATIENCE_MS,
);
