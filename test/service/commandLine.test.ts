import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { importDataset } from '../../cli/commands/importDataset.ts';
import { writeResult } from '../../cli/output/resultFile.ts';
import { exitCodes } from '../../cli/terminal/exitCodes.ts';
import type { Terminal } from '../../cli/terminal/terminal.ts';
import { createDataset, rerunExperiment, runExperiment, watchExperiment } from '../../client/index.ts';
import { VERSION } from '../../shared/config/version.ts';
import { assay, atTerminal, inShell, startAssay, type Typed } from '../support/assay.ts';
import { fails, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

let service: TestService;
let project: TestProject;
beforeAll(async () => {
  service = await sharedTestService();
  project = await service.project();
});
afterAll(() => service[Symbol.asyncDispose]());

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'assay-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A folder of its own, with the address and key of the service in the environment. */
const withKey = (environment: Record<string, string> = {}): Typed => ({
  folder: newFolder(),
  environment: {
    SERVICE_API_URL: service.url,
    SERVICE_API_KEY: service.apiKey,
    SERVICE_PROJECT: project.name,
    ...environment,
  },
});

/** Returns what a command that is called in this process reads and writes. */
const terminalIn = (folder: string): Terminal & { stderr: PassThrough } => ({
  ...{ environment: process.env, folder, stdin: new PassThrough(), signal: new AbortController().signal },
  ...{ stdout: new PassThrough() as never, stderr: new PassThrough() as never },
});

/** A small experiment that has run. */
async function anExperiment(experimentName: string): Promise<{ id: string; name: string; project_id: string }> {
  const { experiment } = await runExperiment({
    client: service.client,
    projectId: project.id,
    experimentName,
    dataset: [
      { input: 'a', output: 'A' },
      { input: 'b', output: 'x' },
    ],
    function: (input: string) => input.toUpperCase(),
    metrics: ['exact_match'],
  });
  return experiment;
}

/** Something else that listens where the service should. */
async function otherServer(answer: {
  status: number;
  body: string;
  answers?: Record<string, string>;
  cutAt?: string;
}): Promise<string> {
  const { status, body, answers = {}, cutAt } = answer;
  const server = createServer(({ url = '' }, response) => {
    const path = new URL(url, 'http://localhost').pathname;
    response.writeHead(status);
    if (cutAt && path.endsWith(cutAt)) response.write('{"name": "half', () => response.destroy());
    else response.end(Object.entries(answers).find(([end]) => path.endsWith(end))?.[1] ?? body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('help', () => {
  test('names every command, and help of a command its options', async () => {
    const { stdout, exitCode } = await assay(['--help'], { folder: newFolder() });
    expect(exitCode).toBe(0);
    for (const name of ['start', 'login', 'watch', 'doctor']) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
    const watch = await assay(['help', 'watch'], { folder: newFolder() });
    expect(watch.stdout).toContain('--project <name>');
  });

  test('on a full disk one sentence says so', async () => {
    const { exitCode, stderr } = await inShell('assay doctor --json > /dev/full', { folder: newFolder() });
    expect(stderr).toBe('the output cannot be written: the disk is full; make room or name another place\n');
    expect(exitCode).toBe(exitCodes.file);
  });

  test('an unknown command is a wrong use, and the nearest one is named', async () => {
    const { stderr, exitCode } = await assay(['wacth', 'x'], { folder: newFolder() });
    expect(stderr).toContain("unknown command 'wacth'");
    expect(stderr).toContain('Did you mean watch?');
    expect(exitCode).toBe(exitCodes.usage);
    const asJson = await assay(['watch', '--json'], { folder: newFolder() });
    expect(JSON.parse(asJson.stderr)).toEqual({ error: "missing required argument 'experiment'", exit_code: exitCodes.usage });
  });

  test.each([
    [['watch', ''], 'experiment is empty'],
    [['run', 'a.ts', '--name', ''], '--name is empty'],
    [['run', 'a.ts', '--dataset', ''], '--dataset is empty'],
    [['gate', 'a', '--baseline', '', '--min', 'm=1'], '--baseline is empty'],
    [['gate', 'a', '--baseline', 'tag:main', '--min', 'm=1'], '--baseline "tag:main" names no tag: write it as tag:key=value'],
    [['gate', 'a'], 'there is nothing to check: add --max-drop, --min, --max or --max-failed'],
    [['retry', 'a', '--rows', 'hello'], '--rows takes ids, or positions from 0, and "hello" is neither'],
  ])('%j is refused in one sentence before a service is asked', async (words, sentence) => {
    const nowhere = { folder: newFolder(), environment: { SERVICE_API_URL: 'http://127.0.0.1:9', SERVICE_API_KEY: 'k' } };
    const { exitCode, stderr, stdout } = await assay(words, nowhere);
    expect([exitCode, stdout]).toEqual([exitCodes.usage, '']);
    expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(sentence)]);
  });

  test('fits a terminal of 40 columns', async () => {
    for (const words of [['--help'], ['logs', 'search', '--help'], ['help', 'run']]) {
      const { stdout } = await assay(words, { folder: newFolder(), environment: { COLUMNS: '40' } });
      const long = stdout.split('\n').filter((line) => stringWidth(line) > 40 && /^ {2}[a-zA-Z-]|^ {6}\S/.test(line));
      expect(long).toEqual([]);
    }
  });
});

test('completion knows commands, options and their values, as a shell asks for them', async () => {
  const asked = [
    ['da'],
    ['datasets', ''],
    ['datasets', 'import', '--fo'],
    ['logs', 'tail', '--project', 'my shop', '--kind', ''],
    ['logs', 'follow', '--kind', ''],
    ['help', 'lo'],
    ['run', ''],
  ];
  const asking = asked.map(
    (words) =>
      `COMP_WORDS=(assay ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; COMPREPLY=(); _assay; echo "\${COMPREPLY[*]}"`,
  );
  const { stdout, stderr } = await inShell(['source <(assay completion bash)', 'complete -p assay', ...asking].join('\n'), {
    folder: newFolder(),
  });
  expect(stderr).toBe('');
  expect(stdout.split('\n')).toEqual([
    'complete -o default -F _assay assay',
    'datasets',
    'import export list versions rows delete help',
    '--format',
    'trace span',
    'trace span',
    'login logs',
    '',
    '',
  ]);
  const zsh = await assay(['completion', 'zsh'], { folder: newFolder() });
  expect(zsh.stdout).toMatch(/^autoload -U \+X compinit bashcompinit && compinit -u && bashcompinit\n/);
  const fish = await assay(['completion', 'fish'], { folder: newFolder() });
  expect(fish.stdout).toContain("complete -c assay -n '__assay_at assay datasets' -f -a import -d 'Make a dataset of");
  expect(fish.stdout).toContain(
    "complete -c assay -n '__assay_at assay logs tail' -l kind -r -f -a 'trace span' -d 'which records'",
  );
  const other = await assay(['completion', 'tcsh'], { folder: newFolder() });
  expect([other.exitCode, other.stderr]).toEqual([
    exitCodes.usage,
    expect.stringContaining('Allowed choices are bash, zsh, fish'),
  ]);
});

describe('login', () => {
  test('keeps a key that only its owner can read, and other commands use it', async () => {
    const folder = newFolder();
    const typed = { folder, environment: {} };
    const { exitCode, stdout } = await assay(['login', '--api-url', service.url], { ...typed, input: `${service.apiKey}\n` });
    expect(stdout).toContain(`Logged in to ${service.url} as admin@assay.local`);
    expect(exitCode).toBe(0);
    const path = join(folder, '.config/assay/credentials.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const doctor = await assay(['doctor', '--json'], typed);
    expect(doctor.exitCode).toBe(0);
    expect(JSON.parse(doctor.stdout)).toContainEqual({
      about: 'credentials',
      state: 'ok',
      found: `admin@assay.local (admin), from ${path}`,
    });
  });

  test('a key that the service does not know is kept nowhere', async () => {
    const folder = newFolder();
    const { exitCode, stderr } = await assay(['login', '--api-url', service.url], { folder, input: 'wrong-key\n' });
    expect(stderr).toMatch(/^assay: .* does not know this API key: check that all of it was given\n$/);
    expect(exitCode).toBe(exitCodes.credentials);
    expect(() => statSync(join(folder, '.config/assay/credentials.json'))).toThrow();
  });

  test('by password it ends with its token, and says how to go on', async () => {
    const folder = newFolder();
    const email = 'cli@example.com';
    const password = 'Secret-password-1';
    const { status } = await service.request('POST', '/users', { email, password, role: 'user' });
    expect(status).toBe(200);
    const login = await assay(['login', '--email', email, '--json'], {
      folder,
      environment: { SERVICE_API_URL: service.url },
      input: password,
    });
    expect(JSON.parse(login.stdout)).toMatchObject({ api_url: service.url, email });
    const path = join(folder, '.config/assay/credentials.json');
    const kept = readFileSync(path, 'utf8');
    expect((await assay(['doctor'], { folder })).exitCode).toBe(0);

    writeFileSync(path, kept.replace(/"expires_at": "[^"]+"/, '"expires_at": "2020-01-01T00:00:00.000Z"'));
    const late = await assay(['watch', 'x', '--project', project.name], { folder });
    expect(late.stderr).toContain(`expired at 2020-01-01T00:00:00.000Z: log in again with assay login --api-url ${service.url}`);
    expect(late.exitCode).toBe(exitCodes.credentials);
  });

  test('a damaged file of logins is named, and one that others can read', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, '.config/assay'), { recursive: true });
    const path = join(folder, '.config/assay/credentials.json');
    writeFileSync(path, 'not JSON');
    chmodSync(path, 0o644);
    const { exitCode, stdout } = await assay(['doctor'], { folder });
    expect(stdout).toContain(`${path} is open to other users\n    close it: chmod 600 ${path}`);
    expect(stdout).toContain(`${path} is damaged: remove it and log in again with assay login`);
    expect(exitCode).not.toBe(0);
  });

  test('the local service of the current folder is found without a login', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, '.assay'));
    writeFileSync(join(folder, '.assay/credentials.json'), JSON.stringify({ api_key: service.apiKey }));
    writeFileSync(join(folder, '.assay/address.json'), readFileSync(join(service.dataDir, 'address.json')));
    const { exitCode, stdout } = await assay(['doctor'], { folder });
    expect(stdout).toContain(`✓ service: ${service.url} (from ${join(folder, '.assay')}), version ${VERSION}`);
    expect(exitCode).toBe(0);
  });
});

describe('what answers', () => {
  test.each([
    [
      'nothing',
      undefined,
      /^assay: no service answers at \S+ \(from SERVICE_API_URL\): start one with assay start, or name another/,
    ],
    [
      'no address',
      'nonsense',
      /^assay: nonsense \(from SERVICE_API_URL\) is no address: write it as http:\/\/host:port\n$/,
      exitCodes.usage,
    ],
    ['something else', { status: 200, body: '<html>' }, /is no Assay service: check the address/],
    [
      'another version',
      { status: 200, body: '{"api_version": "v2", "message": "ready", "version": "9.1.0"}' },
      /is version 9\.1\.0 and this command \S+: use the command of version 9\.1\.0/,
    ],
    ['a service that starts', { status: 503, body: '{"detail": "starting"}' }, /is not ready \(starting\): try again/],
  ])('%s', async (_name, answer, sentence, status: number = exitCodes.unreachable) => {
    const url = typeof answer === 'object' ? await otherServer(answer) : (answer ?? 'http://127.0.0.1:9');
    const { exitCode, stderr } = await assay(['watch', 'x'], withKey({ SERVICE_API_URL: url }));
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(exitCode).toBe(status);
  });

  test('doctor asks a service of another version nothing more', async () => {
    const url = await otherServer({ status: 200, body: '{"api_version": "v2", "message": "ready", "version": "9.1.0"}' });
    const { exitCode, stdout } = await assay(['doctor'], withKey({ SERVICE_API_URL: url }));
    expect(stdout.trim().split('\n').slice(-2)).toEqual([
      expect.stringMatching(/^✗ service: .* version 9\.1\.0$/),
      expect.stringMatching(/^ {4}.*use the command of version 9/),
    ]);
    expect(exitCode).toBe(exitCodes.unreachable);
  });

  test('a wrong key', async () => {
    const { exitCode, stderr } = await assay(['watch', 'x', '--json'], withKey({ SERVICE_API_KEY: 'a-wrong-key' }));
    expect(JSON.parse(stderr)).toMatchObject({ error: expect.stringMatching(/log in with assay login$/), exit_code: 4 });
    expect(exitCode).toBe(exitCodes.credentials);
  });

  test('no credentials at all', async () => {
    const { exitCode, stderr } = await assay(['watch', 'x'], withKey({ SERVICE_API_KEY: '' }));
    expect(stderr).toContain('no credentials for');
    expect(exitCode).toBe(exitCodes.credentials);
  });
});

describe('a run that pauses by itself', () => {
  test('because a quota is used up ends the command of a build, with the reason', async () => {
    const endpoint = await startModelEndpoint();
    onTestFinished(() => endpoint.close());
    endpoint.otherwise(fails(429, { error: { type: 'insufficient_quota' } }));
    await modelAt(service.client, 'broke', endpoint.url, ['broke-model']);
    const typed = withKey();
    const definition = {
      ...{ experimentName: 'broke', promptTemplate: '{{input}}', promptSettings: { modelAlias: 'broke-model', topK: 3 } },
      dataset: [{ input: 'a' }, { input: 'b' }],
    };
    writeFileSync(join(typed.folder, 'broke.mjs'), `export default ${JSON.stringify(definition)};`);
    const { exitCode, stdout, stderr } = await assay(['run', 'broke.mjs'], typed);
    expect([exitCode, stdout]).toEqual([exitCodes.runPaused, '']);
    expect(stderr).toMatch(/0\/2 rows, paused, the model endpoint answered 429 Too Many Requests \(insufficient_quota\)/);
    expect(stderr).toMatch(
      /The run has paused by itself at 0 of 2 rows: .* its quota or credit is used up\. Go on: assay resume /,
    );
    const watched = await assay(['watch', 'broke', '--json'], withKey());
    expect([watched.exitCode, JSON.parse(watched.stdout).progress]).toEqual([
      exitCodes.runPaused,
      expect.objectContaining({ state: 'paused', settings_not_sent: ['top_k'] }),
    ]);
  });

  test('because rows fail does so as well, where they run in the command', async () => {
    const typed = withKey();
    writeFileSync(
      join(typed.folder, 'fails.mjs'),
      `export default { experimentName: 'fails', pauseAfterFailures: 2, concurrency: 1, dataset: ${JSON.stringify(
        Array.from({ length: 20 }, (_, index) => ({ input: `${index}` })),
      )}, function: () => { throw new Error('no luck'); } };`,
    );
    const { exitCode, stderr } = await assay(['run', 'fails.mjs'], typed);
    expect([exitCode, stderr]).toEqual([
      exitCodes.runPaused,
      expect.stringMatching(/rows in a row failed, the last with: .*no luck/),
    ]);
  });
});

describe('steering and comparing', () => {
  test('retry runs failed rows again, pause and cancel say what becomes of a run', async () => {
    const experiment = await anExperiment('to be steered');
    const again = await assay(['retry', experiment.id], withKey());
    expect([again.exitCode, again.stdout]).toEqual([
      0,
      expect.stringContaining('"to be steered" has nothing to run again: no row failed, and every score is there.'),
    ]);
    const place = { client: service.client, projectId: project.id, experimentId: experiment.id };
    const retry = async (...asked: string[]) => {
      const { exitCode, stdout, stderr } = await assay(['retry', experiment.id, ...asked], withKey());
      return [exitCode, stdout + stderr];
    };
    await watchExperiment(place);
    expect(await retry('--rows', '1')).toEqual([
      exitCodes.done,
      expect.stringMatching(/"to be steered" runs the row that is listed again\..*assay run with the file of that function/s),
    ]);
    const rows: number[] = [];
    const hosted = await rerunExperiment({ ...place, function: (_, { ordinal }) => rows.push(ordinal) });
    expect([hosted.state, rows]).toEqual(['completed', [1]]);
    expect(await retry('--metric', 'exact_match', '--state', 'stale', 'failed')).toEqual([
      exitCodes.done,
      expect.stringContaining('"to be steered" has nothing to run again: no score of exact_match is stale or failed.'),
    ]);
    expect(await retry('--rows', '7')).toEqual([
      exitCodes.usage,
      expect.stringContaining('the run has no rows with the ordinals 7'),
    ]);
    expect(await retry('--rows', '0', experiment.id)).toEqual([
      exitCodes.usage,
      expect.stringContaining('--rows takes ids, or positions from 0, not both at once'),
    ]);
    const late = await assay(['pause', experiment.id], withKey());
    expect([late.exitCode, late.stdout]).not.toEqual([0, '']);
    const unknown = await assay(['cancel', 'no such'], withKey());
    expect(unknown.exitCode).toBe(exitCodes.notFound);
  });

  test('compare says a sentence and figures for each metric', async () => {
    const [one, two] = [await anExperiment('the first'), await anExperiment('the second')];
    const { exitCode, stdout } = await assay(['compare', one.name, two.id, '--metric', 'exact_match'], withKey());
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^exact_match +0\.5 +0\.5 +0 .*no difference shown$/m);
    const asJson = await assay(['compare', one.name, two.name, '--json'], withKey());
    expect(JSON.parse(asJson.stdout)).toMatchObject({ baseline: { id: one.id }, experiments: [{ id: two.id }] });
  });
});

describe('watch', () => {
  test('shows how a run ended, by name, id and link', async () => {
    const experiment = await anExperiment('büro 🚀 of "Monday"');
    const links = ['console/p', 'projects'].map((at) => `${service.url}/${at}/${project.id}/experiments/${experiment.id}`);
    for (const words of [experiment.name, experiment.id, ...links]) {
      const { exitCode, stdout, stderr } = await assay(['watch', words], withKey());
      expect(stdout).toMatch(/^"büro 🚀 of \\"Monday\\"" completed: 2 of 2 rows in /);
      expect(stdout).toMatch(/^exact_match +0\.5 +0 +0\.5 +/m);
      expect(stderr).toContain('2/2 rows');
      expect(exitCode).toBe(0);
    }
    const asJson = await assay(['watch', experiment.id, '--json'], withKey());
    expect(JSON.parse(asJson.stdout)).toMatchObject({ experiment: { id: experiment.id }, progress: { state: 'completed' } });
  });

  test('what does not exist is named', async () => {
    const { exitCode, stderr } = await assay(['watch', 'no such'], withKey());
    expect(stderr).toContain('there is no experiment "no such" in this project');
    expect(exitCode).toBe(exitCodes.notFound);
    const other = await assay(['watch', 'x', '--project', 'no such project'], withKey());
    expect(other.stderr).toContain('there is no project called "no such project"');
    expect(other.exitCode).toBe(exitCodes.notFound);
    const nowhere = await assay(['watch', 'x', '--json'], withKey({ SERVICE_PROJECT: '' }));
    expect(JSON.parse(nowhere.stderr)).toEqual({
      error: 'name the project: --project or --project-id, SERVICE_PROJECT or SERVICE_PROJECT_ID',
      exit_code: exitCodes.usage,
    });
  });

  test('fits a terminal of 40 columns, without colours where NO_COLOR is set', async () => {
    const experiment = await anExperiment('a 🚀 name that is longer than the terminal is wide');
    const { stdout } = await atTerminal(40, ['watch', experiment.id], withKey({ NO_COLOR: '1' })).ended;
    const lines = stripVTControlCharacters(stdout).split(/\r?\n/);
    const table = lines.slice(lines.findIndex((line) => line.startsWith('metric')));
    expect(table.length).toBeGreaterThan(3);
    for (const line of table) expect(stringWidth(line)).toBeLessThanOrEqual(40);
    expect(table.join('\n')).toContain('exact_match');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with it
    expect(stdout).not.toMatch(/\u001b\[\d+m/);
  });
});

describe('run', () => {
  /** An experiment file that logs the rows it ran, in a folder where the client library is found. */
  function experimentFile(text: string, name = 'shouting.ts'): Typed {
    const typed = withKey();
    symlinkSync(join(import.meta.dirname, '../../client'), join(typed.folder, 'client'));
    writeFileSync(join(typed.folder, name), text);
    return typed;
  }
  const shouting = `
    import { defineExperiment } from './client/index.ts';
    console.log('loaded');
    export default defineExperiment<string, string>({
      dataset: [{ input: 'a', output: 'A' }, { input: 'b', output: 'x' }],
      function: (input) => input.toUpperCase(),
      metrics: ['exact_match'],
    });`;

  test('runs the experiment of a file and shows what it came to', async () => {
    const typed = experimentFile(shouting, 'shout 🚀.ts');
    const { exitCode, stdout, stderr } = await assay(['run', 'shout 🚀.ts'], typed);
    expect(stdout).toMatch(/^"shout 🚀" completed: 2 of 2 rows in \S+ s$/m);
    expect(stdout).toMatch(/^exact_match +0\.5 /m);
    expect(stdout).toMatch(new RegExp(`^${service.url}/console/p/${project.id}/experiments/\\S+$`, 'm'));
    expect(stderr).toMatch(/^loaded\n.*2\/2 rows/s);
    expect(exitCode).toBe(0);
    const asJson = await assay(['run', 'shout 🚀.ts', '--json', '--trials', '2'], typed);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ progress: { state: 'completed', rows_done: 4, trials: 2 } });
  });

  test('takes variables from the file that --env-file names, and from no other', async () => {
    const typed = experimentFile(`export default {
      dataset: [{ input: 'OWN', output: 'of the file' }, { input: 'SET', output: 'set' }],
      function: (name) => process.env[name] ?? 'absent', metrics: ['exact_match'],
    };`);
    writeFileSync(join(typed.folder, '.env'), 'OWN="of the file"\nSET=other # a remark\n');
    const where = { ...typed, environment: { ...typed.environment, SET: 'set' } };
    const right = async (...words: string[]) =>
      /^exact_match +(\S+)/m.exec((await assay(['run', 'shouting.ts', ...words], where)).stdout)?.[1];
    expect([await right('--env-file', '.env'), await right()]).toEqual(['1', '0.5']);
    const missing = await assay(['projects', '--env-file', 'no.env'], where);
    expect([missing.exitCode, missing.stderr]).toEqual([exitCodes.file, expect.stringMatching(/no\.env cannot be opened/)]);
  });

  test('keeps the commit, branch and build with the experiment', async () => {
    const typed = experimentFile(shouting);
    const git = (...words: string[]) => execFileSync('git', words, { cwd: typed.folder, encoding: 'utf8' }).trim();
    git('init', '--quiet', '--initial-branch', 'new-prompt');
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '--allow-empty', '--message', 'first');
    const url = 'https://ci.example.com/jobs/7';
    const { stdout } = await assay(['run', 'shouting.ts', '--json'], {
      ...typed,
      environment: { ...typed.environment, CI_JOB_URL: url },
    });
    const { experiment } = JSON.parse(stdout);
    const kept = Object.values(experiment.tags as Record<string, { key: string; value: string }[]>).flat();
    const tags = Object.fromEntries(kept.map(({ key, value }) => [key, value]));
    expect(tags).toEqual({ commit: git('rev-parse', 'HEAD'), branch: 'new-prompt', dirty: 'true', build: url });
  });

  test.each([
    ['one that throws', "const a = 1;\nthrow new Error('no key');", /bad\.ts cannot be loaded: no key \(line 2\)/],
    [
      'one that exports nothing',
      'export const a = 1;',
      /bad\.ts exports no experiment: end it with export default defineExperiment/,
    ],
    ['one that is no TypeScript', 'export default {', /bad\.ts cannot be loaded: /],
    ['one without rows', 'export default { function: () => 1 };', /name the rows: dataset/],
    ['one with a name', "export default { name: 'a' };", /bad\.ts: unknown key "name"; the nearest is "experimentName"/],
    ['one with a slip', 'export default { metricz: [] };', /bad\.ts: unknown key "metricz"; the nearest is "metrics"/],
    [
      'one with a slip in it',
      'export default { gate: { maxFaild: 0 } };',
      /unknown key "maxFaild" in gate; the nearest is "maxFailed"/,
    ],
    ['one that says how it is run', 'export default { wait: false };', /wait belongs to one run of an experiment/],
  ])('a file is refused in one sentence: %s', async (_name, text, sentence) => {
    const { exitCode, stderr, stdout } = await assay(['run', 'bad.ts'], experimentFile(text, 'bad.ts'));
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stdout).toBe('');
    expect(exitCode).toBe(exitCodes.usage);
  });

  test('a file that is not there, a project that is not there', async () => {
    const typed = experimentFile(shouting);
    const missing = await assay(['run', 'none.ts'], typed);
    expect(missing.stderr).toMatch(/none\.ts cannot be opened: it does not exist/);
    expect(missing.exitCode).toBe(exitCodes.file);
    const nowhere = await assay(['run', 'shouting.ts', '--project', 'büro 7'], typed);
    expect(nowhere.stderr).toContain('there is no project called "büro 7": check the name, or add --create-project to make it');
    expect(nowhere.exitCode).toBe(exitCodes.notFound);
    const made = ['--project', 'büro 7', '--create-project'];
    writeFileSync(join(typed.folder, 'slip.ts'), 'export default { metricz: [] };');
    expect((await assay(['run', 'slip.ts', ...made], typed)).exitCode).toBe(exitCodes.usage);
    expect((await assay(['run', 'shouting.ts', '--project', 'büro 7'], typed)).exitCode).toBe(exitCodes.notFound);
    expect((await assay(['run', 'shouting.ts', ...made], typed)).exitCode).toBe(0);
  });

  test('takes other rows from a file', async () => {
    const typed = experimentFile(shouting);
    writeFileSync(join(typed.folder, 'rows.csv'), 'input,output\n"a, b","A, B"\n');
    const { stdout } = await assay(['run', 'shouting.ts', '--dataset', 'rows.csv'], typed);
    expect(stdout).toMatch(/completed: 1 of 1 rows/);
    expect(stdout).toMatch(/^exact_match +1 /m);
  });

  test('runs some of the rows: the first, a sample, those that fit, those of another experiment', async () => {
    const typed = experimentFile(shouting);
    writeFileSync(
      join(typed.folder, 'rows.csv'),
      `input\n${Array.from({ length: 20 }, (_, index) => `row ${index}`).join('\n')}\n`,
    );
    await assay(['datasets', 'import', 'rows.csv', '--name', 'twenty rows'], typed);
    const selected = async (name: string, ...rows: string[]) => {
      const words = ['run', 'shouting.ts', '--name', name, '--dataset', 'twenty rows', '--json'];
      const { stdout, stderr, exitCode } = await assay([...words, '--rows', ...rows], typed);
      return exitCode === 0
        ? (JSON.parse(stdout).progress.row_selection as object)
        : JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
    };
    const nothing = { filter: null, listed: null, sample: null, limit: null, same_as: null };
    expect(await selected('first', 'filter=input contains row 1', 'sample=5', 'seed=7', 'limit=3')).toEqual({
      ...nothing,
      ...{ selected: 3, of: 20, limit: 3, sample: { size: 5, seed: 7 } },
      filter: [{ column_name: 'input', operator: 'contains', value: 'row 1' }],
    });
    expect(await selected('listed', 'ordinals=0-2,19')).toEqual({ ...nothing, selected: 4, of: 20, listed: 4 });
    expect(await selected('again', 'same-as=first')).toMatchObject({ selected: 3, same_as: expect.any(String) });
    expect(await selected('none', 'most=3')).toEqual({
      error: expect.stringMatching(/^--rows does not know "most=3": write limit=10, /),
      exit_code: exitCodes.usage,
    });
  });

  test('what a function and its children print by any way is no result', async () => {
    const typed = experimentFile(`
      import { execSync } from 'node:child_process';
      import { writeSync } from 'node:fs';
      process.stdout.write('module\\n');
      export default {
        dataset: [{ input: 'a' }],
        function(input) {
          console.log('console');
          process.stdout.write('stream\\n');
          writeSync(1, 'descriptor\\n');
          execSync('echo child', { stdio: 'inherit' });
          return [input, typeof process.send, process.env.ASSAY_RESULTS_FD ?? 'unset'].join();
        },
      };`);
    const { exitCode, stdout, stderr } = await assay(['run', 'shouting.ts', '--json'], typed);
    expect(JSON.parse(stdout)).toMatchObject({ progress: { rows_done: 1, rows_failed: 0 } });
    for (const line of ['module', 'console', 'stream', 'descriptor', 'child']) expect(stderr.split('\n')).toContain(line);
    expect(exitCode).toBe(0);
    const found = await assay(['logs', 'search', '--experiment', 'shouting', '--json'], typed);
    expect(JSON.parse(found.stdout)).toMatchObject({ output: 'a,undefined,unset' });
    const full = await inShell('assay run shouting.ts > /dev/full', typed);
    expect(full.stderr).toContain('the output cannot be written: the disk is full');
    expect(full.exitCode).toBe(exitCodes.file);
  });

  /** Its second row waits for a file `go`. */
  const slow = `
    import { existsSync } from 'node:fs';
    import { setTimeout } from 'node:timers/promises';
    export default {
      dataset: [{ input: 'quick' }, { input: 'slow' }],
      concurrency: 1,
      async function(input) {
        console.log('row ' + input + ' in ' + process.pid);
        while (input === 'slow' && !existsSync('go')) await setTimeout(20);
        return input;
      },
    };`;

  /** Waits for the second row. @returns the process that runs it */
  const untilSlow = (typed: ReturnType<typeof startAssay>): Promise<number> =>
    new Promise((resolve) => {
      let said = '';
      const look = (text: string) => {
        said += text;
        const [, pid] = /row slow in (\d+)/.exec(said) ?? [];
        if (pid) resolve(Number(pid));
      };
      typed.stdout?.on('data', look);
      typed.stderr?.on('data', look);
    });

  test('Ctrl-C loses nothing: the same command goes on where it was', async () => {
    const typed = experimentFile(slow);
    const first = startAssay(['run', 'shouting.ts'], typed);
    await untilSlow(first);
    first.kill('SIGINT');
    const stopped = await first.ended;
    expect(stopped.exitCode).toBe(exitCodes.interrupted);
    expect(stopped.stderr.trim().split('\n').at(-1)).toMatch(
      /^What is recorded stays, and the run waits for its function\. Go on: assay run shouting\.ts {3}Watch it: assay watch \S+ --project-id \S+ {3}Cancel it: /,
    );
    writeFileSync(join(typed.folder, 'go'), '');
    const second = await assay(['run', 'shouting.ts'], typed);
    expect(second.stderr).toContain('Went on with the run that had not ended');
    expect(second.stderr).not.toContain('row quick');
    expect(second.stdout).toMatch(/completed: 2 of 2 rows/);
  });

  test('Ctrl-C at a terminal, which signals all its processes, counts once', async () => {
    const typed = experimentFile(slow);
    const first = atTerminal(200, ['run', 'shouting.ts'], typed);
    await untilSlow(first);
    first.stdin?.write('\x03');
    const { exitCode, stdout } = await first.ended;
    expect(stdout).toContain('What is recorded stays');
    expect(exitCode).toBe(exitCodes.interrupted);
  });

  test('the code of the file does not outlive a command that was killed', async () => {
    const first = startAssay(['run', 'shouting.ts'], experimentFile(slow));
    const pid = await untilSlow(first);
    first.kill('SIGKILL');
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: 240_000 });
  });
});

describe('datasets', () => {
  /** A folder with these files in it. */
  function folderWith(files: Record<string, string | Uint8Array>): Typed {
    const typed = withKey();
    for (const [name, content] of Object.entries(files)) writeFileSync(join(typed.folder, name), content);
    return typed;
  }
  const rowsOf = (text: string): unknown => JSON.parse(text);

  test('import makes one, export gives back what was imported, in every format', async () => {
    const rows = [
      { input: 'a, "b" 🚀', output: '1', score: 0.5, count: 3, metadata: { tier: 'free' } },
      { input: '', output: null, score: null, count: null, metadata: null },
    ];
    const typed = folderWith({ 'büro 🚀.json': JSON.stringify(rows) });
    const made = await assay(['datasets', 'import', 'büro 🚀.json'], typed);
    expect(made.stdout).toBe('"büro 🚀" has 2 rows (version 1), columns: input, output, score, count, metadata\n');
    for (const format of ['jsonl', 'json', 'parquet']) {
      const file = `out.${format}`;
      const out = await assay(['datasets', 'export', 'büro 🚀', '--output', file], typed);
      expect([out.exitCode, out.stdout, out.stderr]).toEqual([
        0,
        '',
        `2 rows of "büro 🚀" written to ${join(typed.folder, file)}\n`,
      ]);
      const name = `again from ${format}`;
      await assay(['datasets', 'import', file, '--name', name], typed);
      const back = await assay(['datasets', 'export', name, '--format', 'json'], typed);
      expect(rowsOf(back.stdout)).toEqual(rows);
    }
    const csv = await assay(['datasets', 'export', 'büro 🚀'], typed);
    expect(csv.stdout.split('\r\n').slice(0, 2)).toEqual([
      'input,output,score,count,metadata',
      '"a, ""b"" 🚀",1,0.5,3,"{""tier"":""free""}"',
    ]);
    expect(readdirSync(typed.folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('a dataset is changed only by --append and --replace, and is made only without them', async () => {
    const typed = folderWith({
      'sums.csv': 'input,output\n1 + 1,2\n',
      'more.jsonl': '{"input": "2 + 2", "output": "4", "hard": 1}\n',
    });
    const early = await assay(['datasets', 'import', 'sums.csv', '--replace'], typed);
    expect(early.stderr).toBe('assay: there is no dataset "sums": check its name, or leave --replace out to make it\n');
    expect(early.exitCode).toBe(exitCodes.notFound);
    expect((await assay(['datasets', 'import', 'sums.csv'], typed)).exitCode).toBe(0);
    const again = await assay(['datasets', 'import', 'sums.csv'], typed);
    expect(again.stderr).toMatch(
      /^assay: there is a dataset "sums" already: --append adds the rows to it, --replace makes them its new version/,
    );
    expect(again.exitCode).toBe(exitCodes.usage);
    const more = await assay(['datasets', 'import', 'more.jsonl', '--name', 'sums', '--append', '--json'], typed);
    expect(JSON.parse(more.stdout)).toMatchObject({
      num_rows: 2,
      current_version_index: 2,
      column_names: ['input', 'output', 'hard'],
    });
    const other = await assay(['datasets', 'import', 'more.jsonl', '--name', 'sums', '--replace'], typed);
    expect(other.stdout).toBe('"sums" has 1 row (version 3), columns: input, output, hard\n');
    const listed = await assay(['datasets', 'list', '--json'], typed);
    const names = (JSON.parse(listed.stdout) as { name: string }[]).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('sums'))).toEqual(['sums']);
    const shown = await assay(['datasets', 'list', '--project', project.name], typed);
    expect(shown.stdout).toMatch(/^sums +1 +3 +\d{4}-\d\d-\d\d \d\d:\d\d +input, output, hard$/m);
  });

  test('what may take long has no time limit and starts once; what fails first is said', async () => {
    const { folder } = folderWith({ 'long.csv': 'input\n1\n' });
    vi.stubEnv('SERVICE_API_URL', service.url);
    vi.stubEnv('SERVICE_API_KEY', service.apiKey);
    const terminal = terminalIn(folder);
    const unlimited: string[] = [];
    const [send, refused] = [globalThis.fetch, { PUT: 503, DELETE: 409 } as Record<string, number>];
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, request = {}) => {
      const { method = 'GET', signal } = request;
      if (signal === terminal.signal) unlimited.push(`${method} ${new URL(String(url)).pathname.split('/').at(-1)}`);
      const status = refused[method];
      return status ? Response.json({ detail: `no ${method} today` }, { status }) : send(url, request);
    });
    onTestFinished(() => {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
    });
    await importDataset(terminal, 'long.csv', {});
    await expect(importDataset(terminal, 'long.csv', { replace: true })).rejects.toThrow('503: no PUT today');
    expect(unlimited).toEqual(['POST datasets', 'POST datasets', 'PUT content']);
    expect(String(terminal.stderr.read())).toMatch(
      /^the hidden dataset \S+ of this import is left over: .*409: no DELETE today\n$/,
    );
  });

  test('a file keeps its links and who may read it, and two that write it at once are both whole', async () => {
    const { folder } = folderWith({ 'private.csv': 'as it was' });
    chmodSync(join(folder, 'private.csv'), 0o660); // more than the umask leaves
    symlinkSync('private.csv', join(folder, 'link.csv'));
    symlinkSync('new.csv', join(folder, 'early.csv'));
    const chunks = async function* (letter: string) {
      for (let chunk = 0; chunk < 20; chunk++) {
        yield letter.repeat(1_000);
        await setImmediate();
      }
    };
    const terminal = terminalIn(folder);
    const bytes = await Promise.all(['a', 'b'].map((letter) => writeResult(terminal, 'link.csv', chunks(letter))));
    expect(bytes).toEqual([20_000, 20_000]);
    expect(readFileSync(join(folder, 'private.csv'), 'utf8')).toMatch(/^(?:a{20000}|b{20000})$/);
    expect(statSync(join(folder, 'private.csv')).mode & 0o777).toBe(0o660);
    await writeResult(terminal, 'early.csv', chunks('c'));
    expect(readFileSync(join(folder, 'new.csv'), 'utf8')).toHaveLength(20_000);
    expect(readdirSync(folder).sort()).toEqual(['early.csv', 'link.csv', 'new.csv', 'private.csv']);
    expect(
      [lstatSync(join(folder, 'link.csv')), lstatSync(join(folder, 'early.csv'))].map((one) => one.isSymbolicLink()),
    ).toEqual([true, true]);
  });

  test('reads its input, and writes to its output', async () => {
    const { stdout, stderr } = await inShell(
      'printf "input\\n7\\n" | assay datasets import - --format csv --name "from a pipe" > made && assay datasets export "from a pipe" --format jsonl',
      withKey(),
    );
    expect([stdout, stderr]).toEqual(['{"input":"7"}\n', '']);
  });

  test('says how it read a CSV that is not as usual, whether it makes or extends a dataset', async () => {
    const name = `delimited ${crypto.randomUUID()}`;
    const where = withKey();
    writeFileSync(join(where.folder, 'semicolons.csv'), 'input;output\r\n1,5;2\r\n;\r\n');
    for (const more of [[], ['--append'], ['--replace']]) {
      const said = await assay(['datasets', 'import', 'semicolons.csv', '--name', name, ...more], where);
      expect([said.exitCode, said.stderr]).toEqual([
        0,
        'the file was read with fields separated by a semicolon, 1 empty row left out\n',
      ]);
    }
    for (const [delimiter, refusal] of [
      ['comma', '2 fields'],
      [',', '2 fields'],
      ['dash', 'comma, semicolon, tab, pipe'],
    ] as const) {
      const chosen = ['datasets', 'import', 'semicolons.csv', '--name', `${name} 2`, '--delimiter', delimiter];
      const { exitCode, stderr } = await assay(chosen, where);
      expect([exitCode, stderr]).toEqual([exitCodes.usage, expect.stringContaining(refusal)]);
    }
    await assay(['datasets', 'export', name, '--byte-order-mark', '--output', 'excel.csv'], where);
    expect(readFileSync(join(where.folder, 'excel.csv'), 'utf8')).toBe('\uFEFFinput,output\r\n"1,5",2\r\n');
  });

  test.each([
    ['a broken line', 'bad.jsonl', '{"input": "a"}\n{"input": \n', [], /line 2/, exitCodes.usage],
    [
      'a broken line to append',
      'bad.jsonl',
      '{"input": "a"}\n{"input": \n',
      ['--name', 'sums', '--append'],
      /bad\.jsonl cannot be read as jsonl: line 2: /,
      exitCodes.usage,
    ],
    ['no Parquet', 'bad.parquet', 'PAR', [], /bad\.parquet cannot be read as parquet: /, exitCodes.usage],
    [
      'an ending that says nothing',
      'rows.txt',
      'a',
      [],
      /rows\.txt does not say what it holds: add --format csv, jsonl, json or parquet/,
      exitCodes.usage,
    ],
    ['a file that is not there', undefined, '', ['none.csv'], /none\.csv cannot be opened: it does not exist/, exitCodes.file],
    ['a folder', undefined, '', ['.', '--format', 'csv', '--name', 'a'], /it is a folder; name a file/, exitCodes.file],
  ])('%s is refused in one sentence', async (_name, file, content, words, sentence, exitCode) => {
    const typed = folderWith(file ? { [file]: content } : {});
    const refused = await assay(['datasets', 'import', ...(file ? [file] : []), ...words], typed);
    expect(refused.stderr).toMatch(sentence);
    expect(refused.stderr.trim().split('\n')).toHaveLength(1);
    expect(refused.exitCode).toBe(exitCode);
  });

  test('a full disk leaves the file that was there, and no half of another', async () => {
    const typed = folderWith({ 'wide.csv': `input\n${'x'.repeat(200_000)}\n`, 'out.csv': 'as it was' });
    await assay(['datasets', 'import', 'wide.csv'], typed);
    // No file of this shell grows beyond 64 KiB: the kernel says so as it does on a full disk.
    const full = await inShell('trap "" XFSZ; ulimit -f 64; assay datasets export wide --output out.csv', typed);
    expect(full.stderr).toMatch(/^assay: out\.csv cannot be written: /);
    expect(full.exitCode).toBe(exitCodes.file);
    expect(readFileSync(join(typed.folder, 'out.csv'), 'utf8')).toBe('as it was');
    expect(readdirSync(typed.folder).filter((name) => name.endsWith('.part'))).toEqual([]);
    const device = await assay(['datasets', 'export', 'wide', '--output', '/dev/full', '--format', 'csv'], typed);
    expect(device.stderr).toBe('assay: /dev/full cannot be written: the disk is full; make room or name another place\n');
    expect(device.exitCode).toBe(exitCodes.file);
  });
});

describe('records', () => {
  let typed: Typed;
  const post = (path: string, body: unknown) => service.client.send(`/projects/${records}${path}`, { body, repeatable: true });
  let records: string;
  let stream: string;
  const log = (traces: unknown[]) => post('/traces', { log_stream_id: stream, traces });
  const trace = (name: string, fields: object = {}) => ({
    name,
    input: `input of ${name}`,
    output: `output of ${name}`,
    ...fields,
  });
  const linesOf = (text: string) =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const namesIn = (text: string) => linesOf(text).map(({ name }) => name);

  beforeAll(async () => {
    const made = await service.project();
    records = made.id;
    stream = (await service.client.send<{ id: string }>(`/projects/${records}/log_streams`, { body: { name: 'büro 🚀' } })).id;
    typed = {
      folder: mkdtempSync(join(tmpdir(), 'assay-cli-')),
      environment: { SERVICE_API_URL: service.url, SERVICE_API_KEY: service.apiKey, SERVICE_PROJECT: made.name },
    };
    await log([
      trace('first', {
        created_at: '2026-01-01T00:00:00Z',
        status_code: 0,
        metrics: { duration_ns: 420_000_000 },
        user_metadata: { tier: 'free, for now' },
        tags: ['a', 'b'],
      }),
      trace('second', {
        created_at: '2026-01-02T00:00:00Z',
        status_code: 500,
        error_message: 'Timed out',
        metrics: { duration_ns: 90_000_000_000 },
      }),
      trace('third 🚀', {
        created_at: '2026-01-03T00:00:00Z',
        tags: ['b'],
        spans: [{ type: 'tool', name: 'weather', input: 'Oslo', output: '14' }],
      }),
    ]);
  });
  afterAll(() => rmSync(typed.folder, { recursive: true, force: true }));

  test('search shows a table, newest first, of the only log stream', async () => {
    const { stdout, exitCode } = await assay(['logs', 'search'], typed);
    expect(exitCode).toBe(0);
    const lines = stdout.split('\n').map((line) => line.trimEnd());
    expect(lines[0]).toBe('created (UTC)        name      input              output              status_code    took');
    expect(lines[3]).toBe('2026-01-02 00:00:00  second    input of second    output of second            500    90 s');
    const narrow = await assay(['logs', 'search', '--column', 'name', 'input', '--limit', '1'], {
      ...typed,
      environment: { ...typed.environment, COLUMNS: '20' },
    });
    expect(narrow.stdout.split('\n')).toEqual(['name      input', '────────  ──────────', 'third 🚀  input of …', '']);
  });

  test.each([
    [['--filter', 'status_code < 500', '--json'], ['first']],
    [
      ['--filter', 'metrics/duration_ns>=420000000', '--sort', 'created_at'],
      ['first', 'second'],
    ],
    [['--filter', 'user_metadata/tier in "free, for now", trial'], ['first']],
    [['--filter', 'tags contains b', '--filter', 'created_at >= 2026-01-02'], ['third 🚀']],
    [['--filter', 'name != second', '--filter', 'name not in "third 🚀"'], ['first']],
    [['--filter', 'has_children = true'], ['third 🚀']],
    [['--text', 'timed OUT', '--ignore-case'], ['second']],
    [['--since', '2026-01-02', '--until', '2026-01-02 12:00'], ['second']],
    [['--kind', 'span', '--filter', 'type = tool'], ['weather']],
  ])('search %j', async (words, names) => {
    const { stdout, stderr } = await assay(['logs', 'search', ...words, '--json'], typed);
    expect([namesIn(stdout), stderr]).toEqual([names, '']);
  });

  test('search takes the metric of a scorer by its name', async () => {
    const made = async (path: string, body: object) =>
      ((await service.request('POST', path, body)) as { body: { id: string } }).body.id;
    const name = `is_right ${Date.now()}`;
    const scorer = await made('/scorers', { name, scorer_type: 'llm', defaults: { output_type: 'boolean' } });
    await service.request('POST', `/scorers/${scorer}/version/llm`, { user_prompt: 'Is {{output}} right?' });
    const another = await service.project();
    const stream = await made(`/projects/${another.id}/log_streams`, { name: 'judged' });
    await service.request('POST', `/v2/projects/${another.id}/traces`, {
      log_stream_id: stream,
      traces: [true, false].map((right) => ({ name: `${right}`, input: 'q', metrics: { [scorer]: right } })),
    });
    const where = { ...typed, environment: { ...typed.environment, SERVICE_PROJECT: another.name } };
    for (const metric of [name, scorer]) {
      const words = ['logs', 'search', '--filter', `metrics/${metric} = false`];
      const { stdout, stderr } = await assay([...words, '--json'], where);
      expect([namesIn(stdout), stderr]).toEqual([['false'], '']);
      const table = await assay([...words, '--column', 'input', `metrics/${metric}`], where);
      expect(table.stdout.split('\n')[2]?.trim()).toMatch(/^q +false$/);
    }
  });

  test.each([
    [
      ['--filter', 'status'],
      /--filter "status": after status one of = != < <= > >= contains in not in is missing/,
      exitCodes.usage,
    ],
    [['--filter', 'status = 1'], /there is no column "status" here, but input, output, name, /, exitCodes.usage],
    [['--filter', 'name = 2 or nme = 1'], /at "nme = 1": there is no column "nme" here; the closest is name/, exitCodes.usage],
    [['--column', 'nme'], /there is no column "nme"; the closest is name/, exitCodes.usage],
    [['--sort', '-crated_at'], /there is no column "crated_at"; the closest is created_at/, exitCodes.usage],
    [['--sort', 'nothing'], /the service refuses this: .*"nothing"/, exitCodes.usage],
    [['--log-stream', 'other'], /there is no log stream "other" in this project; it has "büro 🚀"/, exitCodes.notFound],
    [['--experiment', 'other'], /there is no experiment "other" in this project/, exitCodes.notFound],
  ])('search %j is refused in one sentence', async (words, sentence, exitCode) => {
    const { stdout, stderr, ...ended } = await assay(['logs', 'search', ...words], typed);
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect([ended.exitCode, stdout]).toEqual([exitCode, '']);
  });

  test('tail misses no record that is logged while it looks, and shows none twice', async () => {
    const tail = startAssay(['logs', 'tail', '--json', '--lines', '2'], typed);
    onTestFinished(() => void tail.kill('SIGKILL'));
    let said = '';
    let arrived = () => {};
    tail.stdout?.on('data', (text: string) => {
      said += text;
      arrived();
    });
    const until = (count: number) =>
      new Promise<void>((resolve, reject) => {
        arrived = () => said.split('\n').length > count && resolve();
        arrived();
        void tail.ended.then(({ stderr }) => reject(new Error(stderr)));
      });
    await until(2);
    const begun = namesIn(said);
    const names = Array.from({ length: 60 }, (_, index) => `new ${index}`);
    for (let from = 0; from < names.length; from += 6)
      // A trace that began long ago is as new as the others logged with it.
      await log(
        names.slice(from, from + 6).map((name, index) => trace(name, index % 2 ? { created_at: '2020-01-01T00:00:00Z' } : {})),
      );
    await until(62);
    await log([trace('the last')]);
    await until(63);
    tail.kill('SIGINT');
    const { exitCode, stderr } = await tail.ended;
    expect([exitCode, stderr]).toEqual([exitCodes.interrupted, '']);
    expect(begun).toHaveLength(2);
    expect(namesIn(said).slice(2).sort()).toEqual([...names, 'the last'].sort());
    expect(namesIn(said).at(-1)).toBe('the last');
  });

  test('export writes what fits, in each format', async () => {
    const fits = ['export', '--until', '2026-01-04', '--since', '2026-01-01'];
    const jsonl = await assay([...fits, '--filter', 'has_children = true'], typed);
    expect(linesOf(jsonl.stdout)).toMatchObject([{ name: 'third 🚀', spans: [{ name: 'weather' }] }]);
    const csv = await assay([...fits, '--output', 'out.csv', '--column', 'name', 'status_code'], typed);
    const written = readFileSync(join(typed.folder, 'out.csv'));
    expect(csv.stderr).toBe(`${written.length} bytes written to ${join(typed.folder, 'out.csv')}\n`);
    expect(written.toString().split('\r\n').sort()).toEqual(['', 'first,0', 'name,status_code', 'second,500', 'third 🚀,']);
    await assay([...fits, '--output', 'out.JSON'], typed);
    expect((JSON.parse(readFileSync(join(typed.folder, 'out.JSON'), 'utf8')) as unknown[]).length).toBe(3);
    await assay(['export', '--kind', 'span', '--output', 'out.parquet'], typed);
    const imported = await assay(['datasets', 'import', 'out.parquet', '--name', 'of spans'], typed);
    expect(imported.stdout).toMatch(/^"of spans" has 1 row/);
    const ndjson = await assay([...fits, '--filter', 'has_children = true', '--output', 'out.ndjson'], typed);
    expect([ndjson.exitCode, readFileSync(join(typed.folder, 'out.ndjson'), 'utf8')]).toEqual([0, jsonl.stdout]);
    const none = await assay([...fits, '--filter', 'name = nobody', '--format', 'json'], typed);
    expect(JSON.parse(none.stdout)).toEqual([]);
    const odd = await assay(['export', '--output', 'out.txt'], typed);
    expect([odd.exitCode, odd.stderr]).toEqual([
      exitCodes.usage,
      'assay: out.txt does not say what to write: add --format jsonl, jsonl_flat, json, csv, parquet\n',
    ]);
  });

  test('a service that breaks off leaves no file that looks whole', async () => {
    const cut = await otherServer({
      status: 200,
      body: JSON.stringify({ api_version: 'v2', message: 'ready', version: VERSION }),
      answers: {
        [`/projects/${records}`]: JSON.stringify({ id: records }),
        '/log_streams/paginated': JSON.stringify({ log_streams: [{ id: stream, name: 'main' }], next_starting_token: null }),
      },
      cutAt: '/export_records',
    });
    const ids = ['--project-id', records, '--log-stream-id', stream];
    const { exitCode, stderr } = await assay(['export', ...ids, '--output', 'cut.jsonl'], {
      ...typed,
      environment: { SERVICE_API_URL: cut, SERVICE_API_KEY: 'a' },
    });
    expect(stderr).toMatch(/^assay: the connection broke off before all was there: /);
    expect(exitCode).toBe(exitCodes.failed);
    expect(readdirSync(typed.folder).filter((name) => name.includes('cut.jsonl'))).toEqual([]);
  });

  test('a reader that has seen enough ends a command quietly', async () => {
    await createDataset({ client: service.client, name: 'one of a list', content: [{ input: 'a' }] });
    await log(Array.from({ length: 300 }, (_, index) => trace(`wide ${index}`, { input: 'x'.repeat(2_000) })));
    for (const command of [
      'logs search --limit 300 --json',
      'logs search --limit 300 --column input name',
      'export',
      'datasets list',
      'logs tail --lines 300 --json',
    ]) {
      const { stdout, stderr } = await inShell(
        `assay ${command} | head -n 1 | cut -c 1-10; echo "status \${PIPESTATUS[0]}"`,
        typed,
      );
      expect(stdout).toMatch(/^.+\nstatus \d+\n$/);
      expect(stderr).toBe('');
      const status = Number(/status (\d+)/.exec(stdout)?.[1]);
      if (command !== 'datasets list') expect([command, status]).toEqual([command, exitCodes.brokenPipe]);
    }
  });
});

test('the page of the command line has every status that a command ends with', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/command-line.md'), 'utf8');
  const listed = [...page.matchAll(/^\| (\d+) \| \S/gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(exitCodes).sort((one, other) => one - other));
});

// It creates a data folder from nothing, beside other files.
test('start runs the service until Ctrl-C; doctor finds it at whatever port it has', async () => {
  const folder = newFolder();
  const typed = { folder, environment: { TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0', LOG_LEVEL: 'error' } };
  const running = startAssay(['start', '--port', '0'], typed);
  onTestFinished(() => void running.kill('SIGKILL'));
  await new Promise<void>((resolve, reject) => {
    let said = '';
    running.stdout?.on('data', (text: string) => {
      said += text;
      if (said.includes('Assay is ready')) resolve();
    });
    void running.ended.then(({ stderr }) => reject(new Error(stderr)));
  });
  const doctor = await assay(['doctor'], typed);
  expect(doctor.stdout).toContain(`(from ${join(folder, '.assay')})`);
  expect(doctor.exitCode).toBe(0);
  running.kill('SIGINT');
  expect((await running.ended).exitCode).toBe(0);
  expect(() => statSync(join(folder, '.assay/address.json'))).toThrow();
});
