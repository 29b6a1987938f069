import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { type ModelEndpoint, startModelEndpoint } from '../../test/support/modelEndpoint.ts';
import { startTestService } from '../../test/support/service.ts';
import type { TestService } from '../../test/support/testService.ts';
import { compare, type Outcome, streamOf } from './compare.ts';
import { startExportRecorder } from './exportRecorder.ts';
import { checks, type Sdk, sdks } from './packages.ts';
import { answersWeather } from './weatherModel.ts';

const INSTALL_MS = 10 * 60_000;
const PROGRAM_MS = 2 * 60_000;
const PROGRAMS = join(import.meta.dirname, 'programs');
const call = promisify(execFile);

/**
 * Installs published packages that trace applications, has a program with each ask a stand-in model for the weather, and compares the records that are
 * stored with what was said: one line for each package, and below it what is otherwise. Ends with 1 where something is.
 *
 * Options: `--only` packages whose name contains it, `--folder` where they are installed and kept (else a temporary folder), `--requests` a folder for the
 * export requests as OTLP/JSON, `--records` one for the records.
 */
export async function run(args: string[]): Promise<void> {
  const text = { type: 'string', default: '' } as const;
  const { values } = parseArgs({ args, options: { only: text, folder: text, requests: text, records: text } });
  const folder = values.folder || (await mkdtemp(join(tmpdir(), 'assay-sdks-')));
  const model = await startModelEndpoint();
  model.otherwise(answersWeather);
  const service = await startTestService();
  const width = Math.max(...sdks.map(({ name }) => name.length)) + 4;
  print(`${''.padEnd(width)}  ${checks.join('  ')}`);
  try {
    const project = await service.project();
    for (const sdk of sdks.filter(({ name }) => values.only.split(',').some((part) => name.includes(part)))) {
      const outcome = await tryOut(sdk, { folder, service, model, project: project.name, requests: values.requests });
      const cells = checks.map((check) =>
        (outcome.wrong.has(check) ? 'NO' : outcome.unsent.has(check) ? '-' : 'yes').padEnd(check.length),
      );
      print(`${`${sdk.registry} ${sdk.name}`.padEnd(width)}  ${cells.join('  ')}`);
      for (const [check, found] of outcome.wrong) print(`  ${check}: ${found}`);
      if (outcome.wrong.size > 0) process.exitCode = 1;
      if (values.records !== '') await write(values.records, sdk, outcome.records);
    }
  } finally {
    await service[Symbol.asyncDispose]();
    await model.close();
    if (values.folder === '') await rm(folder, { recursive: true, force: true });
  }
}

interface Place {
  folder: string;
  service: TestService;
  model: ModelEndpoint;
  project: string;
  requests: string;
}

/** Returns what a package stores; that nothing came of it where it could not be installed or its program fails. */
async function tryOut(sdk: Sdk, { folder, service, model, project, requests }: Place): Promise<Outcome> {
  const recorder = await startExportRecorder(service.url);
  let failure = '';
  try {
    const home = await installed(sdk, join(folder, sdk.registry, sdk.name));
    await cp(PROGRAMS, join(home, 'programs'), { recursive: true });
    const [file, ...args] = sdk.program;
    const interpreter = sdk.registry === 'pip' ? join(home, 'bin/python') : process.execPath;
    await call(interpreter, [join(home, 'programs', file), ...args], {
      cwd: home,
      timeout: PROGRAM_MS,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        OPENAI_API_KEY: 'none',
        OPENAI_BASE_URL: `${model.url}/v1`,
        OPENAI_API_BASE: `${model.url}/v1`,
        OTEL_SERVICE_NAME: 'weather',
        OTEL_EXPORTER_OTLP_ENDPOINT: recorder.url,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${recorder.url}/v1/traces`,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_EXPORTER_OTLP_HEADERS: `Service-API-Key=${service.apiKey},project=${encodeURIComponent(project)},logstream=${encodeURIComponent(streamOf(sdk))}`,
        ...sdk.environment,
      },
    });
  } catch (err) {
    const { message, stderr = '' } = err as Error & { stderr?: string };
    failure = stderr.trim().split('\n').slice(-4).join('\n    ') || message;
  } finally {
    await recorder.close();
  }
  if (requests !== '') await write(requests, sdk, recorder.requests());
  const outcome = await compare(sdk, service, project);
  if (failure !== '') outcome.wrong.set('trace', failure);
  return outcome;
}

/** Puts a package with all that it needs into a folder of its own, once. */
async function installed({ registry, install }: Sdk, home: string): Promise<string> {
  if (
    await stat(join(home, 'installed')).then(
      () => true,
      () => false,
    )
  )
    return home;
  await mkdir(home, { recursive: true });
  if (registry === 'pip') {
    await call('python3', ['-m', 'venv', home], { timeout: INSTALL_MS });
    await call(join(home, 'bin/pip'), ['install', '--quiet', ...install], { timeout: INSTALL_MS });
  } else {
    await writeFile(join(home, 'package.json'), '{"private": true, "type": "module"}');
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
    await call('npm', ['install', ...options, ...install], { cwd: home, timeout: INSTALL_MS });
  }
  await writeFile(join(home, 'installed'), install.join('\n'));
  return home;
}

async function write(folder: string, { registry, name }: Sdk, value: unknown): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${registry}-${name.replaceAll('/', '-')}.json`), JSON.stringify(value, null, 1));
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
