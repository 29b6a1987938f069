import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fc, test as properties } from '@fast-check/vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { PageOf } from '../../shared/accounts/accountStore.ts';
import type { AssetViewer } from '../../shared/assets/assetAccess.ts';
import { annotationQueues } from '../../shared/stores/postgres/annotationQueues.ts';
import { postgresAssets } from '../../shared/stores/postgres/assetAccess.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';
import { datasetStore } from '../../shared/stores/postgres/datasets.ts';
import { postgresExperiments } from '../../shared/stores/postgres/experimentStore.ts';
import { postgresLogStreams } from '../../shared/stores/postgres/logStreams.ts';
import { postgresProjects } from '../../shared/stores/postgres/projects.ts';
import { promptStore } from '../../shared/stores/postgres/prompts.ts';
import { analyzeChanged } from '../../shared/stores/postgres/statistics.ts';
import { projectRoles } from '../../shared/wire/accounts.ts';
import { admin, fillLists, guest, maker, otherProject, project, stranger } from '../support/listedThings.ts';
import { propertyRuns } from '../support/propertyRuns.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';

const THINGS = 1_000;
/** Rows that the search for a page may look at beside those of the page and before it: the others of the same time. */
const ALIKE = 10;
/** Reasons for which one statement may look at a row, say by a key and for a role. */
const ROWS_EACH = 2;

let folder: string;
let database: Database;
let stores: ReturnType<typeof storesOver>;
/** The most rows that a part of each statement of {@link explained} looked at. */
const looked: number[] = [];
let explained: ReturnType<typeof storesOver>;

const storesOver = (database: Database) => ({
  datasets: datasetStore(database),
  prompts: promptStore(database),
  experiments: postgresExperiments(database),
  'log streams': postgresLogStreams(database),
  projects: postgresProjects(database),
  'annotation queues': annotationQueues(database),
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-lists-'));
  database = await openSeededDatabase(join(folder, 'postgres'));
  await database.exec(fillLists(THINGS));
  await analyzeChanged(database);
  stores = storesOver(database);
  const explain = async (sql: string, params?: unknown[]) => {
    const [row] = await database.query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${sql}`, params);
    const [{ Plan }] = z.tuple([z.object({ Plan: z.custom<PlanNode>() })]).parse(row?.['QUERY PLAN']);
    looked.push(mostRows(Plan));
  };
  explained = storesOver({
    ...database,
    query: async (sql, params) => {
      await explain(sql, params);
      return database.query(sql, params);
    },
    measured: async (sql, params) => {
      await explain(sql, params);
      return database.measured(sql, params);
    },
  });
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

interface PlanNode {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}
/** The most rows that one node of the plan looked at. */
const mostRows = (node: PlanNode): number =>
  Math.max(
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    ...(node.Plans ?? []).map(mostRows),
  );

const everyRole = [...projectRoles];
const viewers: Record<string, AssetViewer> = {
  administrator: { userId: admin, everything: true, limited: false, projects: [], grants: everyRole },
  maker: { userId: maker, everything: false, limited: false, projects: [], grants: everyRole },
  'maker with a key of a project': {
    userId: maker,
    everything: false,
    limited: true,
    projects: [{ id: project, role: 'editor' }],
    grants: everyRole,
  },
  'member of a group': { userId: guest, everything: false, limited: false, projects: [], grants: everyRole },
  'member of projects': {
    userId: stranger,
    everything: false,
    limited: false,
    projects: [
      { id: project, role: 'viewer' },
      { id: otherProject, role: 'editor' },
    ],
    grants: everyRole,
  },
  'who asks for what they may change': {
    userId: stranger,
    everything: false,
    limited: false,
    projects: [{ id: project, role: 'viewer' }],
    grants: ['owner', 'editor'],
  },
};

type Named = { id: string; name: string };
type Sort = { name: string; ascending: boolean } | null;
interface List {
  sorts: readonly string[];
  /** The sorts for which there is an index. */
  indexed: readonly string[];
  read(
    stores: ReturnType<typeof storesOver>,
    viewer: AssetViewer,
    sort: never,
    page: { limit: number; offset: number },
  ): Promise<PageOf<Named>>;
}
const times = ['created_at', 'updated_at'];
const runViewer = ({ userId, everything }: AssetViewer) => ({ userId, seesAll: everything, onlyProjectId: undefined });
const lists: Record<string, List> = {
  datasets: {
    sorts: ['name', 'num_rows', 'project_count', ...times],
    indexed: ['name', ...times],
    read: (stores, viewer, sort, { limit, offset }) =>
      stores.datasets.query({ viewer, filters: [], sort, page: { limit, starting_token: offset } }),
  },
  prompts: {
    sorts: ['name', ...times],
    indexed: ['name', ...times],
    read: (stores, viewer, sort, { limit, offset }) =>
      stores.prompts.query({ viewer, filters: [], sort, page: { limit, starting_token: offset } }),
  },
  experiments: {
    sorts: ['name', 'series', 'metrics/figure', ...times],
    indexed: ['created_at'],
    read: (stores, _, sort, page) => stores.experiments.list(project, { filters: [], sort }, page),
  },
  'log streams': {
    sorts: ['name', ...times],
    indexed: ['name', 'created_at'],
    read: (stores, _, sort, page) => stores['log streams'].find(project, { filters: [], sort }, page),
  },
  projects: {
    sorts: ['name', 'type', 'runs', 'bookmark', ...times],
    indexed: ['name', 'created_at'],
    read: (stores, viewer, sort, page) => stores.projects.find(runViewer(viewer), { filters: [], sort }, page),
  },
  'annotation queues': {
    sorts: ['name', 'created_by', 'num_users', 'overall_progress', ...times],
    indexed: ['name', ...times],
    read: (stores, viewer, sort, page) => stores['annotation queues'].queues(runViewer(viewer), { filters: [], sort }, page),
  },
};
const sortOf = (name: string | null, ascending: boolean): Sort => (name === null ? null : { name, ascending });

describe.each(Object.entries(lists))('the list of %s', (_, { sorts, indexed, read }) => {
  properties.prop(
    [
      fc.constantFrom(null, ...sorts),
      fc.boolean(),
      fc.constantFrom(...Object.values(viewers)),
      fc.integer({ min: THINGS / 8, max: THINGS }),
    ],
    { numRuns: propertyRuns(6) },
  )('pages follow each other without a gap or a repeat', async (name, ascending, viewer, limit) => {
    const sort = sortOf(name, ascending) as never;
    const whole = await read(stores, viewer, sort, { limit: 2 * THINGS, offset: 0 });
    expect(whole.hasMore).toBe(false);
    const ids = whole.items.map((item) => item.id);
    expect(new Set(ids).size).toBe(ids.length);
    const paged: string[] = [];
    for (let more = true; more; ) {
      const page = await read(stores, viewer, sort, { limit, offset: paged.length });
      paged.push(...page.items.map((item) => item.id));
      more = page.hasMore;
      expect(more).toBe(paged.length < ids.length);
    }
    expect(paged).toEqual(ids);
    if (name === 'name') {
      const names = whole.items.map((item) => item.name);
      expect(names).toEqual(ascending ? names.toSorted() : names.toSorted().reverse());
    }
  });

  test.each([null, ...indexed].flatMap((name) => [sortOf(name, true), sortOf(name, false)]))(
    'a page in the order %o reads a page',
    async (sort) => {
      for (const offset of [0, 20]) {
        looked.length = 0;
        const { items, hasMore } = await read(explained, viewers.administrator as AssetViewer, sort as never, {
          limit: 20,
          offset,
        });
        expect([items.length, hasMore]).toEqual([20, true]);
        // The first statement finds the ids of the page. The others read what it shows, by these ids.
        expect(looked[0]).toBeLessThanOrEqual(ROWS_EACH * (offset + 21 + ALIKE));
      }
    },
  );
});

describe.each(Object.entries(viewers))('the list of %s', (_, viewer) => {
  const page = { limit: 2 * THINGS, starting_token: 0 };
  test.each([
    ['dataset', () => stores.datasets.query({ viewer, filters: [], sort: null, page })],
    ['prompt', () => stores.prompts.query({ viewer, filters: [], sort: null, page })],
  ] as const)('holds each %s on which they have one of the roles', async (kind, list) => {
    const all = (await database.query('SELECT id FROM thing')).map((row) => String(row.id));
    const roles = await postgresAssets(database).grants(kind, viewer, all);
    const allowed = all.filter((one) => viewer.grants.some((grant) => grant === roles.get(one)));
    expect(allowed.length).toBeGreaterThan(0);
    expect((await list()).items.map((item) => item.id).sort()).toEqual(allowed.sort());
  });
});

test('lists without pages hold all of them, in the order of the pages', async () => {
  const everything = { userId: admin, seesAll: true, onlyProjectId: undefined };
  const page = { limit: 2 * THINGS, offset: 0 };
  const query = { filters: [] };
  expect(await stores.projects.find(everything, query)).toEqual(await stores.projects.find(everything, query, page));
  expect(await stores['log streams'].find(project, query)).toEqual(await stores['log streams'].find(project, query, page));
  const experiments = await stores.experiments.list(project, query, page);
  expect(await stores.experiments.ids(project)).toEqual(experiments.items.map((one) => one.id));
});

test('a thing is found by its id without a look at the others', async () => {
  const viewer = viewers.administrator as AssetViewer;
  const { id: wanted } = z.object({ id: z.string() }).parse((await database.query('SELECT id FROM thing LIMIT 1'))[0]);
  const idsOf = async (operator: 'eq' | 'one_of' | 'ne', value: string | string[]) => {
    looked.length = 0;
    const page = { limit: THINGS, starting_token: 0 };
    const filters = [{ name: 'id' as const, operator, value }];
    const { items } = await explained.datasets.query({ viewer, filters: filters as never, sort: null, page });
    return items.map((one) => one.id);
  };
  expect(await idsOf('eq', wanted.toUpperCase())).toEqual([wanted]);
  expect(looked[0]).toBe(1);
  expect(await idsOf('one_of', ['no id', wanted])).toEqual([wanted]);
  expect(await idsOf('one_of', ['no id'])).toEqual([]);
  const others = await idsOf('ne', [wanted, 'no id']);
  expect([others.length, others.includes(wanted)]).toEqual([THINGS - 1, false]);
});

test('experiments are ranked in their groups, whichever of them are read', async () => {
  const { experiments } = stores;
  const ids = await experiments.ids(project);
  const all = await experiments.byIds(project, ids);
  expect(all.map((one) => one.id)).toEqual(ids);
  for (const one of all) {
    const rivals = all.filter((other) => other.group.id === one.group.id && other.ranking !== null);
    const better = rivals.filter((other) => (other.ranking?.score ?? 0) > (one.ranking?.score ?? 0));
    expect(one.ranking?.rank).toBe(one.ranking ? better.length + 1 : undefined);
    expect(one.ranking?.isWinner).toBe(one.ranking ? better.length === 0 && rivals.length > 1 : undefined);
  }
  const some = ids.filter((_, index) => index % 7 === 0);
  expect(await experiments.byIds(project, some)).toEqual(all.filter((one) => some.includes(one.id)));
});

describe('a question that needs all rows', () => {
  const page = { limit: 50, starting_token: 400 };
  const filter = { name: 'name', operator: 'contains', value: 'A', case_sensitive: false } as const;
  type Ask = (stores: ReturnType<typeof storesOver>, viewer: AssetViewer) => Promise<unknown>;
  const questions: [string, Ask][] = [
    ['counts', ({ datasets }, viewer) => datasets.count({ viewer, filters: [] })],
    ['looks for a part of a name', ({ datasets }, viewer) => datasets.query({ viewer, filters: [filter], sort: null, page })],
    [
      'has an order without an index',
      ({ datasets }, viewer) =>
        datasets.query({ viewer, filters: [], sort: { name: 'num_rows', ascending: true } as never, page }),
    ],
    ['asks for a page far behind', ({ datasets }, viewer) => datasets.query({ viewer, filters: [], sort: null, page })],
    ['lists the names in use', ({ datasets }, viewer) => datasets.namesFrom('', viewer)],
  ];

  test.each(questions)('and %s is answered by statements of some rows, between which others run', async (_, ask) => {
    const [administrator, maker] = [viewers.administrator as AssetViewer, viewers.maker as AssetViewer];
    let statements = 0;
    const inParts = storesOver({
      ...database,
      async measured(sql, params) {
        statements++;
        const { row } = await database.measured(sql, params);
        return { row, tookMs: database.sliceMs }; // the next one reads as many rows
      },
    });
    let ended = false;
    const answer = ask(inParts, administrator).finally(() => {
      ended = true;
    });
    await database.query('SELECT 1');
    expect(ended).toBe(false);
    const atOnce = storesOver({ ...database, sliceMs: Number.MAX_SAFE_INTEGER });
    expect(await answer).toEqual(await ask(atOnce, administrator));
    expect(statements).toBeGreaterThan(1);
    expect(await ask(inParts, maker)).toEqual(await ask(atOnce, maker));
  });
});

test('what was deleted of late is found without reading all that was ever deleted', async () => {
  await database.exec(
    `INSERT INTO deletion_markers (project_id, run_id, deleted_at) SELECT gen_random_uuid(), gen_random_uuid(), now() - interval '2 days' FROM generate_series(1, 3000)`,
  );
  const late = crypto.randomUUID();
  await database.query('INSERT INTO deletion_markers (project_id) VALUES ($1)', [late]);
  await database.exec('ANALYZE deletion_markers');
  looked.length = 0;
  expect(await explained.projects.deletedOfLate(60)).toMatchObject([{ projectId: late }]);
  expect(looked).toEqual([1]);
});
