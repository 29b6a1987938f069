import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { PreparedCall } from '../../shared/playground/playgroundCall.ts';
import { openPlaygroundLimits, type PlaygroundBudget } from '../../shared/playground/playgroundLimits.ts';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';
import { postgresPlaygroundCalls } from '../../shared/stores/postgres/playgroundCalls.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { postgresProgram, startPostgresServer } from '../support/postgresServer.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';

interface Opened {
  /** As two processes have them: one database twice where there is a server. */
  databases: [Database, Database];
  close(): Promise<void>;
}

/** Rejects with the status of the refusal. */
const statusOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 200,
    (err: { status?: number; items?: unknown }) => err.status ?? (err.items ? 422 : err),
  );

function budgetContract(open: () => Promise<Opened>): void {
  let opened: Opened;
  let at: Date;
  let one: PlaygroundBudget;
  let other: PlaygroundBudget;

  beforeAll(async () => {
    opened = await open();
    [one, other] = opened.databases.map((database) =>
      openPlaygroundLimits({
        store: postgresPlaygroundCalls(database),
        prices: { fresh: async () => {}, costOf: ({ model }) => (model === 'free of price' ? null : 0.1) },
        now: () => at,
        log: { warn: (...said: unknown[]) => expect(said).toEqual([]) },
      }),
    ) as [PlaygroundBudget, PlaygroundBudget];
  });
  afterAll(() => opened?.close());

  async function project(limits: { mostCalls: number | null; mostUsdPerDay: number | null }): Promise<string> {
    at = new Date('2026-03-01T23:10:00Z');
    const id = newId();
    const maker = newId();
    await opened.databases[0].exec(`
      INSERT INTO users (id, email, role) VALUES ('${maker}', '${maker}@example.com', 'user');
      INSERT INTO projects (id, name, type, created_by) VALUES ('${id}', '${id}', 'gen_ai', '${maker}');
    `);
    await one.set(id, limits);
    return id;
  }
  /** A call that may cost 0.1 dollars. */
  const call = (projectId: string, model = 'priced') =>
    ({
      ...{ projectId, messages: [], settings: {} },
      resolved: {
        integration: { id: 'i', name: 'house', provider: 'custom' },
        model: { name: model, alias: model, parameters: {} },
      },
    }) as unknown as PreparedCall;

  test('of two calls at the edge, each in a process of its own, one is made, for calls and for money', async () => {
    const crowded = await project({ mostCalls: 3, mostUsdPerDay: null });
    await Promise.all([one.begin(call(crowded)), other.begin(call(crowded))]);
    const atEdge = await Promise.all([one, other, one, other].map((budget) => statusOf(budget.begin(call(crowded)))));
    expect(atEdge.sort()).toEqual([200, 429, 429, 429]);
    expect(await other.of(crowded)).toMatchObject({ used: { calls_now: 3, calls: 3 }, left: { calls: 0, cost: null } });

    const poor = await project({ mostCalls: null, mostUsdPerDay: 0.3 });
    const spent = await Promise.all([one, other, one, other, one].map((budget) => statusOf(budget.begin(call(poor)))));
    expect(spent.sort()).toEqual([200, 200, 200, 429, 429]);
    expect(await one.of(poor)).toMatchObject({
      used: { cost: 0.3, estimated_cost: 0.3, calls: 3 },
      left: { calls: null, cost: 0 },
    });
  });

  test('a call that ends frees its slot and counts with what it cost; an unknown cost is that of the estimate', async () => {
    const id = await project({ mostCalls: 2, mostUsdPerDay: 0.5 });
    const [first, second] = [await one.begin(call(id)), await other.begin(call(id))];
    await expect(one.begin(call(id))).rejects.toThrow(
      'the playground of this project may have 2 calls at once, and 2 run now: run this one when one of them has ended',
    );
    await first.end(0.25);
    await second.end(null);
    expect(await one.of(id)).toMatchObject({
      used: { calls_now: 0, calls: 2, cost: 0.35, estimated_cost: 0.1, calls_without_cost: 0 },
      left: { calls: 2, cost: 0.15 },
    });
    await (await one.begin(call(id))).drop();
    await (await one.begin(call(id))).end(0.1);
    await expect(other.begin(call(id))).rejects.toThrow(
      'may cost $0.5 a day (UTC): $0.45 is used by 3 calls, $0.1 of it estimated, and this call may cost $0.1. Ask for fewer tokens, or wait: it is free again at 00:00 UTC, in 50 min 0 s',
    );
  });

  test('a new day begins with nothing used, and calls of the day before still have their slots', async () => {
    const id = await project({ mostCalls: 2, mostUsdPerDay: 0.1 });
    const late = await one.begin(call(id));
    await expect(other.begin(call(id))).rejects.toMatchObject({ status: 429, retryAfterSeconds: 3_000 });
    at = new Date('2026-03-02T00:00:01Z');
    expect(await other.of(id)).toMatchObject({
      used: { calls_now: 1, calls: 0, cost: 0, day: '2026-03-02', resets_at: '2026-03-03T00:00:00.000Z' },
      left: { calls: 1, cost: 0.1 },
    });
    await other.begin(call(id));
    await late.end(5);
    expect(await one.of(id)).toMatchObject({ used: { calls_now: 1, calls: 1, cost: 0.1 } });
  });

  test('without a price a call is refused while money is limited, and counts as unknown while it is not', async () => {
    const id = await project({ mostCalls: null, mostUsdPerDay: null });
    await (await one.begin(call(id, 'free of price'))).end(null);
    expect(await one.of(id)).toMatchObject({ used: { calls: 1, cost: null, calls_without_cost: 1 } });
    await one.set(id, { mostCalls: null, mostUsdPerDay: 1 });
    await expect(one.begin(call(id, 'free of price'))).rejects.toMatchObject({
      items: [{ type: 'price_unknown', msg: expect.stringContaining('"house/free of price": set one on its integration') }],
    });
    await one.set(id, { mostCalls: null, mostUsdPerDay: 0.05 });
    await expect(one.begin(call(id))).rejects.toThrow('Ask for fewer tokens, or for a higher limit');
  });

  test('a call of a process that died gives its slot back, and its estimate stays spent', async () => {
    const id = await project({ mostCalls: 1, mostUsdPerDay: null });
    const lost = await one.begin(call(id));
    expect(await statusOf(other.begin(call(id)))).toBe(429);
    await opened.databases[0].query('UPDATE playground_calls SET runs_until = now() WHERE project_id = $1', [id]);
    expect(await other.of(id)).toMatchObject({ used: { calls_now: 0, calls: 1, cost: 0.1, estimated_cost: 0.1 } });
    await other.begin(call(id));
    // It lives after all: what it cost counts.
    await lost.end(0.01);
    expect(await other.of(id)).toMatchObject({ used: { calls_now: 1, calls: 2, cost: 0.11 } });
  });
}

describe('calls of playgrounds, embedded', () => {
  budgetContract(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'assay-playground-'));
    const database = await openSeededDatabase(join(directory, 'postgres'));
    return {
      databases: [database, database],
      async close() {
        await database.close();
        await rm(directory, { recursive: true });
      },
    };
  });
});

describeWithServer('calls of playgrounds, a server', postgresProgram, (path) => {
  budgetContract(async () => {
    const server = await startPostgresServer(path);
    const [first, second] = [await openDatabase({ url: server.url }), await openDatabase({ url: server.url })];
    return {
      databases: [first, second],
      async close() {
        await Promise.all([first.close(), second.close()]);
        await server.remove();
      },
    };
  });
});
