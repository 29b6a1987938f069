import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitCodes } from '../../cli/terminal/exitCodes.ts';
import {
  createDataset,
  type ExperimentProgress,
  editDataset,
  getDataset,
  getExperiment,
  Logger,
  runExperiment,
} from '../../client/index.ts';
import { assay, atTerminal, startAssay, type Typed } from '../support/assay.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';
import { typedIn } from '../support/typedIn.ts';

let service: TestService;
let project: TestProject;
let typed: Typed;
beforeAll(async () => {
  service = await sharedTestService();
  project = await service.project();
  typed = {
    folder: '/',
    environment: { SERVICE_API_URL: service.url, SERVICE_API_KEY: service.apiKey, SERVICE_PROJECT: project.name },
  };
});
afterAll(() => service[Symbol.asyncDispose]());

const anExperiment = async (experimentName: string, answer: (input: unknown) => unknown = (input) => input) =>
  (
    await runExperiment({
      ...{ client: service.client, projectId: project.id, experimentName, function: answer, metrics: ['exact_match'] },
      dataset: [
        { input: 'a', output: 'a' },
        { input: 'b', output: 'x' },
      ],
    })
  ).experiment;

describe('projects and experiments', () => {
  test('are listed, and found by name and id', async () => {
    const { id, name } = await anExperiment('listed');
    const projects = await assay(['projects'], typed);
    expect(projects.stdout).toMatch(new RegExp(`^${project.name} +${project.id} `, 'm'));
    const json = JSON.parse((await assay(['projects', '--json'], typed)).stdout) as { id: string }[];
    expect(json.map((one) => one.id)).toContain(project.id);
    for (const words of [[], ['--project', project.name], ['--project', project.id], ['--project-id', project.id]]) {
      const { stdout } = await assay(['experiments', ...words], typed);
      expect(stdout).toMatch(new RegExp(`^${name} +completed +2 .*${id}$`, 'm'));
    }
    await anExperiment('newer');
    const one = await assay(['experiments', '--limit', '1', '--json'], typed);
    expect(JSON.parse(one.stdout)).toMatchObject([{ name: 'newer', state: 'completed' }]);
    expect(one.stderr).toContain('1 experiment shown, the newest; --limit shows more.');
  });

  test('a name that there is not is refused with the closest', async () => {
    await anExperiment('nightly');
    const said = async (...words: string[]) => {
      const { exitCode, stderr } = await assay(words, typed);
      return [exitCode, stderr];
    };
    expect(await said('watch', 'nigthly')).toEqual([exitCodes.notFound, expect.stringContaining('the closest is "nightly"')]);
    expect(await said('experiments', '--project', `${project.name}x`)).toEqual([
      exitCodes.notFound,
      expect.stringContaining(`there is no project called "${project.name}x"; the closest is "${project.name}"`),
    ]);
    const empty = await service.project();
    const none = await assay(['experiments', '--project-id', empty.id, '--json'], typed);
    expect([none.exitCode, JSON.parse(none.stdout)]).toEqual([0, []]);
  });
});

test('logs show has a trace as a tree; of a span its trace, with the span marked', async () => {
  const logger = new Logger({ client: service.client, projectId: project.id, logStream: 'shown' });
  await logger.close();
  const streams = (await service.request('POST', `/v2/projects/${project.id}/log_streams`, { name: 'trees' })).body as {
    id: string;
  };
  const [trace, call] = [crypto.randomUUID(), crypto.randomUUID()];
  await service.client.send(`/projects/${project.id}/traces`, {
    body: {
      log_stream_id: streams.id,
      traces: [
        {
          ...{ id: trace, name: 'plan', input: 'Lisbon?', output: 'Sunny.', metrics: { duration_ns: 512e6, confidence: 0.75 } },
          spans: [
            {
              ...{ type: 'workflow', name: 'think', input: 'x', output: 'y' },
              spans: [
                {
                  ...{ id: call, type: 'llm', name: 'call', model: 'm', input: 'x', output: 'y', status_code: 500 },
                  error_message: 'timed out\nafter a while',
                  metrics: { num_input_tokens: 9, num_output_tokens: 1, num_total_tokens: 10, duration_ns: 420e6 },
                },
              ],
            },
            { type: 'tool', name: 'weather', input: 'x', output: 'y', metrics: { duration_ns: 1e6 } },
          ],
        },
      ],
    },
  });
  const { exitCode, stdout, stderr } = await assay(['logs', 'show', trace], typed);
  expect([exitCode, stderr]).toEqual([0, '']);
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toEqual([
    expect.stringMatching(/^trace plan {2}512 ms/),
    '│  scores: confidence 0.75',
    expect.stringMatching(/^├─ workflow think/),
    expect.stringMatching(/^│ {2}└─ llm call {2}420 ms {2}10 tokens.* {2}status 500$/),
    '│        error: timed out after a while',
    expect.stringMatching(/^└─ tool weather {2}1 ms/),
  ]);
  const marked = await assay(['logs', 'show', call], typed);
  expect(marked.stdout).toMatch(/^│ {2}└─ llm call .*◀ this one$/m);
  expect(marked.stdout.match(/◀/g)).toHaveLength(1);
  expect(JSON.parse((await assay(['logs', 'show', call, '--json'], typed)).stdout)).toMatchObject({
    trace: { id: trace, spans: [{ spans: [{ id: call }] }, { name: 'weather' }] },
    span_id: call,
  });
  const unknown = await assay(['logs', 'show', crypto.randomUUID()], typed);
  expect([unknown.exitCode, unknown.stderr]).toEqual([exitCodes.notFound, expect.stringContaining('no trace or span')]);
  expect((await assay(['logs', 'show', 'plan'], typed)).exitCode).toBe(exitCodes.usage);
});

test('logs show has the scores of an experiment by name', async () => {
  const { id } = await anExperiment('scored');
  const found = await assay(['logs', 'search', '--experiment', id, '--column', 'id', 'input', '--json'], typed);
  const [row] = found.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; input: string })
    .filter(({ input }) => input === 'a');
  const { stdout } = await assay(['logs', 'show', row?.id as string], typed);
  expect(stdout).toMatch(/scores: .*exact_match true/);
});

test('concurrency changes how many rows of a run are in flight', async () => {
  let said: unknown;
  await anExperiment('hurried', async (input) => {
    said ??= await startAssay(['concurrency', 'hurried', '7'], withEnvironment()).ended;
    return input;
  });
  expect(said).toMatchObject({ exitCode: 0, stdout: '"hurried" runs at most 7 rows at a time.\n' });
  expect((await assay(['concurrency', 'hurried', '0'], typed)).exitCode).toBe(exitCodes.usage);
  const late = await assay(['concurrency', 'hurried', '3'], typed);
  expect(late.exitCode).toBe(exitCodes.usage);
});

const withEnvironment = (): Typed => ({ ...typedIn(service, project), environment: typed.environment ?? {} });

describe('datasets', () => {
  async function aDataset(name: string): Promise<string> {
    const { id } = await createDataset({ client: service.client, name, content: [{ input: 'a' }, { input: 'b' }] });
    await editDataset({ client: service.client, id, edits: [{ edit_type: 'append_row', values: { input: 'c' } }] as never });
    return id;
  }

  test('versions and rows are shown, by name and id', async () => {
    const name = `letters ${crypto.randomUUID()}`;
    const id = await aDataset(name);
    for (const words of [name, id]) {
      const versions = await assay(['datasets', 'versions', words], typed);
      expect(versions.stdout).toMatch(/^ +2 +3 +1 +0 +0 .*input$/m);
      expect(versions.stdout).toMatch(/^ +1 +2 .*input$/m);
      const rows = await assay(['datasets', 'rows', words], typed);
      expect(
        rows.stdout
          .split('\n')
          .slice(2)
          .map((line) => line.trim()),
      ).toEqual(['0  a', '1  b', '2  c', '']);
    }
    const json = JSON.parse((await assay(['datasets', 'versions', name, '--json'], typed)).stdout) as { version_index: number }[];
    expect(json.map((one) => one.version_index)).toEqual([2, 1]);
    const old = await assay(['datasets', 'rows', name, '--dataset-version', '1', '--json'], typed);
    expect(JSON.parse(old.stdout)).toMatchObject([{ values_dict: { input: 'a' } }, { values_dict: { input: 'b' } }]);
    const first = await assay(['datasets', 'rows', name, '--limit', '1'], typed);
    expect(first.stderr).toContain('1 row shown, the first; --limit shows more.');
    const none = await assay(['datasets', 'rows', name, '--dataset-version', '9'], typed);
    expect([none.exitCode, none.stderr]).toEqual([exitCodes.notFound, expect.stringContaining('the newest is 2')]);
  });

  test('delete asks or needs --yes, and never takes a name that is only like one', async () => {
    const name = `unwanted-${crypto.randomUUID()}`;
    const id = await aDataset(name);
    const isThere = async () => (await getDataset({ client: service.client, id })) !== undefined;
    const typo = await assay(['datasets', 'delete', name.slice(0, -1), '--yes'], typed);
    expect([typo.exitCode, typo.stderr]).toEqual([exitCodes.notFound, expect.stringContaining(`the closest is "${name}"`)]);
    const unasked = await assay(['datasets', 'delete', name], typed);
    expect([unasked.exitCode, unasked.stderr]).toEqual([exitCodes.usage, expect.stringContaining('add --yes')]);
    const asked = atTerminal(200, ['datasets', 'delete', name], withEnvironment());
    asked.stdout?.on('data', (text: string) => text.includes('[y/N]') && asked.stdin?.write('n\n'));
    expect((await asked.ended).stdout).toContain('Nothing was deleted.');
    expect(await isThere()).toBe(true);
    const agreed = atTerminal(200, ['datasets', 'delete', name], withEnvironment());
    agreed.stdout?.on('data', (text: string) => text.includes('[y/N]') && agreed.stdin?.write('y\n'));
    const { stdout } = await agreed.ended;
    expect(stdout).toContain(`Delete the dataset "${name}" with 3 rows and 2 versions?`);
    expect(stdout).toContain('is deleted');
    expect(await isThere()).toBe(false);
    const other = await aDataset(name);
    const json = await assay(['datasets', 'delete', other, '--yes', '--json'], typed);
    expect(JSON.parse(json.stdout)).toEqual({ id: other, name, deleted: true });
  });
});

test('a run that goes on says what its metrics come to so far, and of how many values', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const said: ExperimentProgress[] = [];
  const running = runExperiment({
    ...{ client: service.client, projectId: project.id, experimentName: 'so far', metrics: ['exact_match'] },
    dataset: [
      { input: 'a', output: 'a' },
      { input: 'b', output: 'x' },
      { input: 'last', output: 'last' },
    ],
    function: async (input) => {
      if (input === 'last') await held;
      return input;
    },
    onProgress: (now) => said.push(now),
  });
  const figures = [{ metric: 'exact_match', figure: 0.5, values: 2 }];
  await expect.poll(() => said.at(-1)?.figures).toEqual(figures);
  const { id } = (await getExperiment({ client: service.client, projectId: project.id, experimentName: 'so far' })) ?? {};
  const at = `/v2/projects/${project.id}/experiments/${id}/progress`;
  expect((await service.request('GET', `${at}?figures=true`)).body).toMatchObject({ state: 'running', rows_done: 2, figures });
  expect((await service.request('GET', at)).body).not.toHaveProperty('figures');
  // The experiment itself has no figures before its run has ended, rather than ones of some rows.
  expect((await service.request('GET', at.replace('/progress', ''))).body).toMatchObject({ aggregate_metrics: {} });
  release();
  expect((await running).experiment.aggregate_metrics.exact_match).toBeCloseTo(2 / 3);
});

test('retry with nothing to do says so, and starts nothing', async () => {
  const { id } = await anExperiment('whole');
  const at = `/projects/${project.id}/experiments/${id}/progress`;
  const before = await service.client.send<{ started_at: string }>(at);
  const { exitCode, stdout } = await assay(['retry', id], typed);
  expect([exitCode, stdout]).toEqual([0, '"whole" has nothing to run again: no row failed, and every score is there.\n']);
  expect(JSON.parse((await assay(['retry', id, '--json'], typed)).stdout)).toMatchObject({ started: false });
  const scores = await assay(['retry', id, '--metric', 'exact_match', '--state', 'failed'], typed);
  expect([scores.exitCode, scores.stdout]).toEqual([0, '"whole" has nothing to run again: no score of exact_match is failed.\n']);
  const all = await assay(['retry', id, '--metric', 'exact_match'], typed);
  expect(all.stdout).toBe('"whole" has nothing to run again: no score of exact_match is missing or failed or stale.\n');
  const unknown = await assay(['retry', id, '--metric', 'exact_matc'], typed);
  expect([unknown.exitCode, unknown.stderr]).toEqual([exitCodes.usage, expect.stringContaining('nearest: "exact_match"')]);
  expect(await service.client.send(at)).toMatchObject({ state: 'completed', started_at: before.started_at });
});

describe('help', () => {
  test.each([
    [['help', 'datasets', 'import'], 'assay datasets import [options] <file>'],
    [['datasets', 'help', 'import'], 'assay datasets import [options] <file>'],
    [['help', 'logs'], 'assay logs [options] [command]'],
    [['logs', 'help', 'show'], 'assay logs show [options] <id>'],
  ])('%j', async (words, usage) => {
    const { exitCode, stdout } = await assay(words, typed);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`Usage: ${usage}\n`)]);
  });

  test.each([
    [['help', 'datasetz'], 'the closest is "datasets"'],
    [['datasets', 'help', 'imprt'], 'the closest is "import"'],
    [['datasets', 'imprt'], 'Did you mean import?'],
    [['experiments', '--projct', 'x'], 'Did you mean --project?'],
  ])('%j is refused with the closest', async (words, hint) => {
    const { exitCode, stderr } = await assay(words, typed);
    expect([exitCode, stderr]).toEqual([exitCodes.usage, expect.stringContaining(hint)]);
    const asJson = await assay([...words, '--json'], typed);
    expect(JSON.parse(asJson.stderr)).toMatchObject({ exit_code: exitCodes.usage });
  });
});

describe('a module in a folder of CommonJS', () => {
  const file = `import { basename } from 'node:path';\nexport default { dataset: [{ input: 'a' }], function: (input) => basename(input) };`;
  const manifest = '{ "type": "commonjs" }';

  test.each([
    ['the file itself', { 'it.ts': file, 'package.json': manifest }, 'it.ts', 'it.mts'],
    ['plain JavaScript', { 'it.js': file, 'package.json': manifest }, 'it.js', 'it.mjs'],
    [
      'one that it imports',
      {
        'it.mts': "import { one } from './help.ts';\nexport default { one };",
        'help.ts': 'export const one: number = 1;',
        'package.json': manifest,
      },
      'it.mts',
      'help.mts',
    ],
  ])('is refused with what to do: %s', async (_, files, name, better) => {
    const { exitCode, stderr } = await assay(['run', name], typedIn(service, project, files));
    expect(exitCode).toBe(exitCodes.usage);
    expect(stderr).toMatch(/package\.json makes \S+ CommonJS: set "type": "module" there, or name the file /);
    expect(stderr).toContain(`name the file ${better}`);
  });

  test('runs where it is named so, and other errors have no such hint', async () => {
    const place = typedIn(service, project, { 'it.mts': file, 'package.json': manifest });
    expect((await assay(['run', 'it.mts'], place)).exitCode).toBe(0);
    mkdirSync(join(place.folder, 'below'));
    writeFileSync(join(place.folder, 'below', 'wrong.mts'), 'export default {');
    expect((await assay(['run', 'below/wrong.mts'], place)).stderr).not.toContain('CommonJS');
  });
});
