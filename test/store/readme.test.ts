import { execFile, spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { settingNames } from '../../shared/config/config.ts';
import { errorCodes } from '../../shared/errors/errors.ts';
import { ownPort } from '../support/ownPort.ts';

const root = join(import.meta.dirname, '../..');
const page = (path: string) => readFileSync(join(root, path), 'utf8');
const run = promisify(execFile);

/** Commands of the pages that run elsewhere: by CI itself, by the tests of deployments, or below with a folder and ports of their own. */
const ranElsewhere = ['npm ci && npm run demo', 'npm ci && npm test', 'npm start', 'npm run check', 'docker-compose up'];

interface Block {
  language: string;
  text: string;
  /** True when it stands right below the block before it, as the output of a command does. */
  follows: boolean;
}

function blocksOf(path: string): Block[] {
  let end = -1;
  return [...page(path).matchAll(/^```(\w*)\n(.*?)^```$/gms)].map((match) => {
    const [whole, language = '', text = ''] = match;
    const follows = end >= 0 && page(path).slice(end, match.index).trim() === '';
    end = match.index + whole.length;
    return { language, text, follows };
  });
}

const isRanElsewhere = ({ text }: Block) => ranElsewhere.some((command) => text.trim().endsWith(command));

test('the README sets a fresh machine up with two commands', () => {
  expect(page('README.md').match(/^npm ci && .*$/gm)).toEqual(['npm ci && npm run demo', 'npm ci && npm test']);
});

test('the page of settings has a row for every setting, and for nothing else', () => {
  expect([...page('docs/settings.md').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)).toEqual(settingNames);
});

test('the page of errors has every error as it is answered', () => {
  const rows = [...page('docs/errors.md').matchAll(/^\| (\w+) \| (\d+) \| (\d+) \| `(\w+)` \| (\w+) \|$/gm)];
  expect(
    rows.map(([, name, status, errorCode, errorType, errorGroup]) => ({
      name,
      status: Number(status),
      errorCode: Number(errorCode),
      errorType,
      errorGroup,
    })),
  ).toEqual(Object.entries(errorCodes).map(([name, code]) => ({ name, ...code })));
});

const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root }).sort()];

/** The fragments that headings of a page can be linked by, as GitHub makes them. */
const fragmentsOf = (path: string) =>
  [...page(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe.each(pages)('%s', (path) => {
  test('links to pages and headings that exist, and names no other files', () => {
    const links = [...page(path).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(([, to, fragment]) => ({
      file: to ? join(dirname(path), to) : path,
      fragment,
    }));
    const missing = links.filter(
      ({ file, fragment }) => !existsSync(join(root, file)) || (fragment && !fragmentsOf(file).includes(fragment)),
    );
    const named = [...page(path).matchAll(/`((?:api|client|demo|docs|shared|test|workers|workflows)\/[\w./-]+)`/g)].map(
      ([, to = '']) => to,
    );
    expect([...missing, ...named.filter((to) => !existsSync(join(root, to)))]).toEqual([]);
  });
});

describe.each(pages.filter((path) => path !== 'README.md'))('%s', (path) => {
  test('is at most 120 lines long, and another page leads to it', () => {
    expect(page(path).trimEnd().split('\n').length).toBeLessThanOrEqual(120);
    const leading = pages.filter((other) => other !== path && page(other).includes(`](${relative(dirname(other), path)}`));
    expect(leading).not.toEqual([]);
  });
});

test('every decision says why it was taken and when to look again', () => {
  const decisions = globSync('docs/decisions/*.md', { cwd: root, exclude: ['docs/decisions/README.md'] });
  const incomplete = decisions.filter((path) => {
    const parts = ['**Context.**', '| option | figures | taken |', '**Choice.**', '**Look again when**'];
    return !parts.every((part) => page(path).includes(part));
  });
  expect(incomplete).toEqual([]);
});

test('the glossary has at most 40 terms, in alphabetical order', () => {
  const terms = [...page('docs/glossary.md').matchAll(/^\| ([^|]+) \|/gm)].map(([, term = '']) => term).slice(2);
  expect(terms.length).toBeLessThanOrEqual(40);
  expect(terms).toEqual([...terms].sort());
});

describe('examples', () => {
  let folder: string;
  let dataDir: string;
  let url: string;
  let stop: () => Promise<unknown>;

  // As a person does: `npm start`, then the examples in another terminal.
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'assay-readme-'));
    dataDir = join(folder, '.assay');
    for (const name of ['client', 'node_modules']) await symlink(join(root, name), join(folder, name));
    // An installation puts the command on the PATH.
    await mkdir(join(folder, 'bin'));
    await symlink(join(root, 'bin/assay.js'), join(folder, 'bin/assay'));
    const port = await ownPort();
    url = `http://127.0.0.1:${port}`;
    const environment = { DATA_DIR: dataDir, PORT: String(port), TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0', LOG_LEVEL: 'warn' };
    const child = spawn('npm', ['start'], {
      cwd: root,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const gone = new Promise((resolve) => child.once('exit', resolve));
    stop = () => {
      child.kill('SIGTERM');
      return gone;
    };
    let said = '';
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (chunk) => {
        said += chunk;
        if (said.includes(`API docs    ${url}/docs`)) resolve();
      });
      child.once('exit', (code) => reject(new Error(`npm start ended with ${code}:\n${said}`)));
    });
  });
  afterAll(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  const examplesOf = (path: string) =>
    blocksOf(path).filter((block) => ['bash', 'ts', 'text'].includes(block.language) && !isRanElsewhere(block));
  /** The first example of the README says where the service is, and gives the later ones their words. */
  const preparation = (): Block => examplesOf('README.md').find(({ text }) => text.includes('SERVICE_API_KEY=')) as Block;

  test.each(pages.filter((path) => examplesOf(path).some(({ language }) => language === 'bash')))(
    'of %s do what the page says',
    async (path) => {
      const own = examplesOf(path).filter(({ text }) => text !== preparation().text);
      const name = path.replaceAll(/\W/g, '-');
      const first = preparation().text.replace('"name": "first"', `"name": "${path === 'README.md' ? 'first' : name}"`);
      let script = `set -euo pipefail\n${first}`;
      const expected: string[] = [];
      let last = -1;
      for (const { language, text, follows } of own) {
        const file = /^\/\/ ([\w-]+\.ts)\n/.exec(text)?.[1];
        if (language === 'bash') {
          script += `\necho '--- example ${++last}'\n${text}`;
          expected[last] = '';
        } else if (language === 'ts' && file) await writeFile(join(folder, file), text);
        else if (language === 'text' && follows && last >= 0) expected[last] = text;
      }
      const atHand = { SERVICE_PROJECT: '', SERVICE_PROJECT_ID: '', NO_COLOR: '1', npm_config_update_notifier: 'false' };
      const searched = `${join(folder, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`;
      const { stdout } = await run('bash', ['-c', script.replaceAll('http://127.0.0.1:8088', url)], {
        cwd: folder,
        env: { ...process.env, ...atHand, PATH: searched },
        timeout: 280_000,
      }).catch((err: { stdout: string; stderr: string }) => {
        throw new Error(`an example of ${path} failed:\n${err.stdout}${err.stderr}`);
      });
      const outputs = stdout.split(/^--- example \d+\n/m).slice(1);
      expect(outputs).toHaveLength(expected.length);
      for (const [index, output] of outputs.entries()) if (expected[index]) expect(output).toBe(expected[index]);
    },
  );
});

test('the demo ends by itself with a table of both experiments and the way back to them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-demo-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { stdout } = await run('npm', ['run', 'demo'], {
    cwd: root,
    env: { ...process.env, DATA_DIR: folder },
    timeout: 300_000,
  });
  expect(stdout).toMatch(/^agent +█{30} 40\/40 rows, 160\/160 scores$/m);
  // name, rows, errors, numeric match, exact match, latency, tokens, duration
  expect(stdout).toMatch(/^agent +40 +0 +100\.0 % +100\.0 % +\d+ ms +1640 +\d+\.\d s$/m);
  expect(stdout).toMatch(/^prompt +40 +0 +85\.0 % +0\.0 % +\d+ ms +1800 +\d+\.\d s$/m);
  expect(stdout).toMatch(
    /^prompt is worse than agent in numeric_match; 85\.0 % against 100\.0 %, .*; 0 rows better, 6 worse, 34 the same; p = 0\.031/m,
  );
  // metric, agent, prompt, interval, better, worse, p, verdict
  expect(stdout).toMatch(/^numeric_match +1 +0\.85 +-0\.\d+ to -0\.\d+ +0 +6 +0\.0313 +worse$/m);
  expect(stdout).toContain(`DATA_DIR=${folder} `);
  expect(stdout).toMatch(/^ {2}API docs +http:\/\/127\.0\.0\.1:\d+\/docs$/m);
  expect(stdout).toContain(`  sign in       as admin@assay.local with the password of ${join(folder, 'credentials.json')}`);
  expect(stdout).toMatch(/^ {2}comparison +http:\/\/127\.0\.0\.1:\d+\/console\/p\/[\w-]{36}\/compare\?base=[\w-]{36}&with=\S+$/m);
  for (const name of ['agent', 'prompt']) {
    expect(stdout).toMatch(
      new RegExp(`http://127\\.0\\.0\\.1:\\d+/console/p/[\\w-]{36}/experiments/[\\w-]{36} \\(${name}\\)$`, 'm'),
    );
    expect(stdout).toMatch(
      new RegExp(
        `http://127\\.0\\.0\\.1:\\d+/namespaces/default/workflows\\?query=AssayProject\\S+%22${name}%22 \\(${name}\\)$`,
        'm',
      ),
    );
  }
}, 310_000);
