import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextLoop } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { AssetViewer } from '../shared/assets/assetAccess.ts';
import { threadCpuMs } from '../shared/concurrency/freeTurn.ts';
import { postgresAccounts } from '../shared/stores/postgres/accounts.ts';
import { annotationQueues } from '../shared/stores/postgres/annotationQueues.ts';
import { collaboratorStore } from '../shared/stores/postgres/collaborators.ts';
import type { Database } from '../shared/stores/postgres/database.ts';
import { datasetStore } from '../shared/stores/postgres/datasets.ts';
import { postgresExperimentGroups } from '../shared/stores/postgres/experimentGroups.ts';
import { postgresExperiments } from '../shared/stores/postgres/experimentStore.ts';
import { postgresLogStreams } from '../shared/stores/postgres/logStreams.ts';
import { postgresProjects } from '../shared/stores/postgres/projects.ts';
import { promptStore } from '../shared/stores/postgres/prompts.ts';
import { scorerStore } from '../shared/stores/postgres/scorers.ts';
import { analyzeChanged } from '../shared/stores/postgres/statistics.ts';
import { projectRoles } from '../shared/wire/accounts.ts';
import { admin, fillLists, maker, otherProject, project, stranger } from '../test/support/listedThings.ts';
import { openSeededDatabase } from '../test/support/seedPostgres.ts';

/** Milliseconds for which a list question may hold the event loop. */
const BLOCK_MS = 50;

/**
 * Asks every list of the embedded Postgres in each of its orders, by each kind of filter and from deep offsets, over many things of each kind. Prints for
 * each the longest CPU time for which the event loop was held, all of the CPU time, and how many statements it took, and ends with 1 where one held it for over
 * 50 ms.
 *
 * Options: `--things` of each kind (100000), `--only` questions whose name contains it, `--data` a folder that keeps the things for
 * the next time.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { things: { type: 'string', default: '100000' }, only: { type: 'string', default: '' }, data: { type: 'string' } },
  });
  const things = Number(values.things);
  const folder = await mkdtemp(join(tmpdir(), 'assay-bench-'));
  const database = await openSeededDatabase(join(values.data ?? folder, 'postgres'));
  try {
    if (values.data === undefined || (await database.query('SELECT FROM datasets LIMIT 1')).length === 0) {
      await database.exec(fillLists(things));
      await analyzeChanged(database);
    }
    let statements = 0;
    const questions = questionsOver(
      {
        ...database,
        query(sql, params) {
          statements++;
          return database.query(sql, params);
        },
        measured(sql, params) {
          statements++;
          return database.measured(sql, params);
        },
        maybeOne(sql, params) {
          statements++;
          return database.maybeOne(sql, params);
        },
      },
      things,
    );
    for (const [name, ask] of questions) {
      if (!name.includes(values.only)) continue;
      await ask(); // the first one reads from the disk
      statements = 0;
      const { heldMs, tookMs } = await watched(ask);
      const bad = heldMs > BLOCK_MS;
      if (bad) process.exitCode = 1;
      process.stdout.write(
        `${name.padEnd(70)} held ${heldMs.toFixed(0).padStart(6)} ms, took ${tookMs.toFixed(0).padStart(6)} ms, ${String(statements).padStart(4)} statements${bad ? '  TOO LONG' : ''}\n`,
      );
    }
  } finally {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Milliseconds of CPU for which the event loop was held at most while `work` ran, and that it took. */
async function watched(work: () => Promise<unknown>): Promise<{ heldMs: number; tookMs: number }> {
  let going = true;
  let heldMs = 0;
  const began = threadCpuMs();
  const watch = (async () => {
    for (let last = began; going; last = threadCpuMs()) {
      await nextLoop();
      heldMs = Math.max(heldMs, threadCpuMs() - last);
    }
  })();
  await work();
  const tookMs = threadCpuMs() - began;
  going = false;
  await watch;
  return { heldMs, tookMs };
}

const everyRole = [...projectRoles];
const viewers: Record<string, AssetViewer> = {
  administrator: { userId: admin, everything: true, limited: false, projects: [], grants: everyRole },
  maker: { userId: maker, everything: false, limited: false, projects: [], grants: everyRole },
  stranger: {
    userId: stranger,
    everything: false,
    limited: false,
    projects: [
      { id: project, role: 'viewer' },
      { id: otherProject, role: 'editor' },
    ],
    grants: everyRole,
  },
};

type Question = readonly [name: string, ask: () => Promise<unknown>];

function questionsOver(database: Database, things: number): Question[] {
  const datasets = datasetStore(database);
  const prompts = promptStore(database);
  const experiments = postgresExperiments(database);
  const groups = postgresExperimentGroups(database);
  const logStreams = postgresLogStreams(database);
  const projects = postgresProjects(database);
  const queues = annotationQueues(database);
  const scorers = scorerStore(database);
  const accounts = postgresAccounts(database);
  const collaborators = collaboratorStore(database, 'project');
  const page = { limit: 100, offset: 0 };
  const deep = { limit: 100, offset: Math.floor(things * 0.9) };
  const token = ({ limit, offset }: typeof page) => ({ limit, starting_token: offset });
  const nameHas = (value: string, caseSensitive: boolean) =>
    ({ name: 'name', operator: 'contains', value, case_sensitive: caseSensitive }) as const;
  const times = ['created_at', 'updated_at'] as const;
  const all: [string, () => Promise<unknown>][] = [];
  const ask = (name: string, question: () => Promise<unknown>) => all.push([name, question]);
  for (const [who, viewer] of Object.entries(viewers)) {
    const datasetSorts = [
      ...['name', ...times, 'num_rows', 'project_count'].map((name) => ({ name })),
      { name: 'project_last_used_at', value: otherProject },
      { name: 'last_edited_by_user_at', value: maker },
    ];
    const asks = (
      kind: string,
      sorts: readonly object[],
      filters: readonly object[],
      list: (filters: never, sort: never, page: { limit: number; starting_token: number }) => Promise<unknown>,
      count: (filters: never) => Promise<unknown>,
    ) => {
      for (const sort of [null, ...sorts])
        for (const ascending of sort ? [true, false] : [false])
          for (const at of [page, deep])
            ask(`${kind} as ${who} by ${JSON.stringify(sort)} ${ascending ? 'ascending' : ''} from ${at.offset}`, () =>
              list([] as never, (sort && { ...sort, ascending }) as never, token(at)),
            );
      ask(`${kind} as ${who} counted`, () => count([] as never));
      for (const filter of filters) {
        ask(`${kind} as ${who} with ${JSON.stringify(filter)}`, () => list([filter] as never, null as never, token(page)));
        ask(`${kind} as ${who} counted with ${JSON.stringify(filter)}`, () => count([filter] as never));
      }
      ask(`names of ${kind} as ${who}`, () =>
        (kind === 'datasets' ? datasets : prompts).namesFrom('no such name', viewer as never),
      );
    };
    asks(
      'datasets',
      datasetSorts,
      [
        nameHas('no such part', true),
        nameHas('no such part', false),
        { name: 'name', operator: 'eq', value: 'no such', case_sensitive: false },
        { name: 'draft', operator: 'eq', value: true },
        { name: 'used_in_project', operator: 'eq', value: otherProject },
        { name: 'not_in_project', operator: 'eq', value: otherProject },
        { name: 'id', operator: 'contains', value: 'no such' },
      ],
      (filters, sort, at) => datasets.query({ viewer, filters, sort, page: at }),
      (filters) => datasets.count({ viewer, filters }),
    );
    asks(
      'prompts',
      ['name', ...times].map((name) => ({ name })),
      [
        nameHas('no such part', true),
        nameHas('no such part', false),
        { name: 'used_in_project', operator: 'eq', value: otherProject },
        { name: 'not_in_project', operator: 'eq', value: otherProject },
        { name: 'creator', operator: 'eq', value: stranger },
      ],
      (filters, sort, at) => prompts.query({ viewer, filters, sort, page: at }),
      (filters) => prompts.count({ viewer, filters }),
    );
    const runViewer = { userId: viewer.userId, seesAll: viewer.everything, onlyProjectId: undefined };
    const over = (
      kind: string,
      sorts: readonly string[],
      filters: readonly object[],
      list: (query: never, page: { limit: number; offset: number }) => Promise<unknown>,
      count?: (query: never) => Promise<unknown>,
    ) => {
      for (const name of [undefined, ...sorts])
        for (const ascending of name ? [true, false] : [false])
          for (const at of [page, deep])
            ask(`${kind} as ${who} by ${name} ${ascending ? 'ascending' : ''} from ${at.offset}`, () =>
              list({ filters: [], ...(name && { sort: { name, ascending } }) } as never, at),
            );
      if (count) ask(`${kind} as ${who} counted`, () => count({ filters: [] } as never));
      for (const filter of filters) {
        ask(`${kind} as ${who} with ${JSON.stringify(filter)}`, () => list({ filters: [filter] } as never, page));
        if (count) ask(`${kind} as ${who} counted with ${JSON.stringify(filter)}`, () => count({ filters: [filter] } as never));
      }
    };
    const named = [nameHas('no such part', true), nameHas('no such part', false)];
    const late = { name: 'updated_at', operator: 'gt', value: '2036-01-01T00:00:00Z' };
    over(
      'projects',
      ['name', 'type', 'runs', 'bookmark', ...times],
      [...named, late, { name: 'runs', operator: 'gt', value: 7 }, { name: 'type', operator: 'eq', value: 'no such' }],
      (query, at) => projects.find(runViewer, query, at),
      (query) => projects.count(runViewer, query),
    );
    ask(`all projects as ${who}`, () => projects.find(runViewer, { filters: [] }));
    over(
      'annotation queues',
      ['name', 'created_by', 'num_users', 'num_log_records', 'num_templates', 'num_annotators', 'overall_progress', ...times],
      [
        ...named,
        late,
        { name: 'project_id', operator: 'eq', value: project },
        ...['num_users', 'num_log_records', 'num_templates', 'num_annotators', 'overall_progress'].map((name) => ({
          ...{ name, operator: 'gt', value: 7 },
        })),
      ],
      (query, at) => queues.queues(runViewer, query, at),
      (query) => queues.countQueues(runViewer, query),
    );
    ask(`names of annotation queues as ${who}`, () => queues.queueNamesFrom(runViewer, 'no such name'));
    if (who !== 'administrator') continue;
    over(
      'experiments',
      ['name', 'series', 'metrics/figure', ...times],
      [
        ...named,
        late,
        { name: 'metrics/figure', operator: 'gt', value: 100 },
        { name: 'series', operator: 'contains', value: 'no such', case_sensitive: false },
        { name: 'experiment_group_name', operator: 'contains', value: 'no such', case_sensitive: false },
      ],
      (query, at) => experiments.list(project, query, at),
    );
    ask('ids of experiments', () => experiments.ids(project));
    ask('metrics of experiments', () => experiments.aggregatedMetrics(project));
    ask('experiment groups', () => groups.list(project, page));
    over('log streams', ['name', ...times], [...named, late], (query, at) => logStreams.find(project, query, at));
    ask('all log streams', () => logStreams.find(project, { filters: [] }));
    ask('scorers', () => scorers.list());
    ask('scorers of a project', () => scorers.projectScorers(project));
    for (const at of [page, deep]) {
      ask(`users from ${at.offset}`, () => accounts.users(at));
      ask(`groups from ${at.offset}`, () => accounts.groups(stranger, false, at));
      ask(`API keys from ${at.offset}`, () => accounts.apiKeys(maker, at));
      ask(`users of a project from ${at.offset}`, () => collaborators.userCollaborators(project, at));
      ask(`groups of a project from ${at.offset}`, () =>
        collaborators.groupCollaborators(project, at, { userId: stranger, seesHidden: false }),
      );
      ask(`users of a queue from ${at.offset}`, () => queues.queueUsers(project, at));
    }
  }
  return all;
}
