import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { constants, createWriteStream } from 'node:fs';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment, type Environment } from '../../childProcesses/childEnvironment.ts';
import { ServiceError } from '../../errors/errors.ts';
import { type TemporalRelease, temporalArchive, temporalVersion } from './temporalRelease.ts';
import { startWatchdog } from './watchdog.ts';

const goModule = fileURLToPath(new URL('../../../tools/temporal/', import.meta.url));
const keptName = `temporal-${temporalVersion}`;

/** Without a network the name lookup fails in milliseconds; this bounds a firewall that drops packets. */
const DOWNLOAD_ANSWER_MS = 8_000;
/** A download that stands still for so long is given up. */
const DOWNLOAD_STALL_MS = 20_000;
/** The first run of a 170 MB program from a cold disk takes seconds. */
const VERSION_CHECK_MS = 20_000;
/** 2.5 minutes on two free cores; this bounds a module proxy that never answers. */
const BUILD_MS = 30 * 60_000;
const PROGRESS_EVERY_MS = 5_000;

export interface FindTemporalOptions {
  dataDir: string;
  /** Shared by all data folders of a user; see `defaultCacheDir`. */
  cacheDir: string;
  /** The environment of the service. Its PATH is searched for `temporal` and `go`; programs see little more of it. */
  environment: Environment;
  /** Where it is downloaded from, and what a download must be: `temporalRelease`. */
  release: TemporalRelease;
  onProgress: (line: string) => void;
  signal?: AbortSignal;
}

/** `$XDG_CACHE_HOME/assay`, or `~/.cache/assay`. */
export function defaultCacheDir(xdgCacheHome: string | undefined): string {
  return join(xdgCacheHome || join(homedir(), '.cache'), 'assay');
}

/**
 * Path of a `temporal` program that runs here: the one on PATH, the copy kept in the data or cache folder, a download whose checksum is the pinned
 * one, or a build with the Go toolchain. What was downloaded or built is kept, so that only the first start pays.
 * @throws ServiceError `Unavailable` when none of the ways works; the message says what to install or set.
 */
export async function findTemporal(options: FindTemporalOptions): Promise<string> {
  const { dataDir, cacheDir, environment, onProgress, signal } = options;
  const own = childEnvironment(environment);
  const installed = await onPath('temporal', environment.PATH);
  if (installed !== undefined) {
    if (await runs(installed, own)) return installed;
    onProgress(`${installed} does not run as Temporal's command line; looking further`);
  }
  for (const folder of [dataDir, cacheDir]) {
    const kept = join(folder, keptName);
    if ((await isProgram(kept)) && (await runs(kept, own))) return kept;
  }
  const folder = await writableFolder(cacheDir, dataDir);
  const work = await mkdtemp(join(folder, '.temporal-'));
  try {
    const reasons: string[] = [];
    for (const obtain of [download, build]) {
      signal?.throwIfAborted();
      const program = join(work, 'temporal');
      try {
        await obtain(program, options);
        if (!(await runs(program, own))) throw new Error('what came does not run on this machine');
        const kept = join(folder, keptName);
        await rename(program, kept); // at once or not at all: another start never sees half a file
        onProgress(`Temporal ${temporalVersion} is kept as ${kept}`);
        return kept;
      } catch (err) {
        signal?.throwIfAborted();
        const reason = `${obtain.name}: ${reasonOf(err)}`;
        reasons.push(reason);
        onProgress(`no Temporal by ${reason}`);
      }
    }
    throw new ServiceError(
      'Unavailable',
      `no Temporal server found (${reasons.join('; ')}): install Temporal's command line (https://docs.temporal.io/cli) or Go 1.25 or newer, ` +
        'or set TEMPORAL_ADDRESS to a running server',
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function download(program: string, { environment, release, onProgress, signal }: FindTemporalOptions): Promise<void> {
  const name = temporalArchive(process.platform, process.arch);
  const expected = release.sha256[name];
  if (expected === undefined) throw new Error(`no checksum of ${name} is known`);
  const url = `${release.downloads}/v${temporalVersion}/${name}`;
  onProgress(`downloading Temporal ${temporalVersion} from ${url}`);
  const given = new AbortController();
  const giveUp = (ms: number) => setTimeout(() => given.abort(new Error(`no answer in ${ms / 1_000} s`)), ms);
  let timer = giveUp(DOWNLOAD_ANSWER_MS);
  const archive = join(dirname(program), name);
  const digest = createHash('sha256');
  try {
    const response = await fetch(url, { signal: signal === undefined ? given.signal : AbortSignal.any([signal, given.signal]) });
    if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`);
    const report = every(PROGRESS_EVERY_MS, onProgress);
    let bytes = 0;
    await pipeline(
      Readable.fromWeb(response.body),
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          clearTimeout(timer);
          timer = giveUp(DOWNLOAD_STALL_MS);
          bytes += chunk.length;
          report(`downloading Temporal: ${Math.round(bytes / 1_000_000)} MB`);
          digest.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(archive),
    );
  } finally {
    clearTimeout(timer);
  }
  const found = digest.digest('hex');
  if (found !== expected) throw new Error(`${url} has the SHA-256 checksum ${found}, not ${expected}`);
  await ended(
    spawn('tar', ['-xzf', archive, '-C', dirname(program), 'temporal'], { env: childEnvironment(environment), stdio: 'ignore' }),
    'tar',
  );
}

async function build(program: string, { environment, onProgress, signal }: FindTemporalOptions): Promise<void> {
  const go = await onPath('go', environment.PATH);
  if (go === undefined) throw new Error('there is no `go` on PATH');
  onProgress(`building Temporal ${temporalVersion} with ${go}: some 3 minutes, the first time only`);
  // Under a watchdog: should we be killed, the compiler ends with us.
  const watchdog = startWatchdog(childEnvironment(environment, Object.keys(environment).filter(isForGo)));
  // -s -w: without symbol tables and debug data the program is a third smaller.
  const flags = `-s -w -X github.com/temporalio/cli/temporalcli.Version=${temporalVersion}`;
  const args = ['build', '-v', '-ldflags', flags, '-o', program, 'github.com/temporalio/cli/cmd/temporal'];
  const compiler = watchdog.spawn(go, args, { cwd: goModule, stdout: 'pipe', stderr: 'pipe' });
  const limit = AbortSignal.timeout(BUILD_MS);
  const stop = () => void watchdog.end();
  limit.addEventListener('abort', stop);
  signal?.addEventListener('abort', stop);
  try {
    const report = every(PROGRESS_EVERY_MS, onProgress);
    let packages = 0;
    let lastLine = '';
    compiler.stdout?.resume();
    if (compiler.stderr !== null) {
      createInterface({ input: compiler.stderr }).on('line', (line) => {
        lastLine = line;
        report(`building Temporal: ${++packages} packages`); // `go build -v` writes a line for each
      });
    }
    await ended(compiler, 'go build').catch((err) => {
      throw new Error(limit.aborted ? `not built in ${BUILD_MS / 60_000} minutes` : `${reasonOf(err)}: ${lastLine}`);
    });
  } finally {
    limit.removeEventListener('abort', stop);
    signal?.removeEventListener('abort', stop);
    await watchdog.end();
  }
}

/** Settings of the toolchain, of what it fetches modules with, and of proxies. */
const isForGo = (name: string): boolean => /^(?:C?GO|CC$|GIT_|SSL_|XDG_)|^(?:https?|no|all)_proxy$/i.test(name);

async function ended(child: ChildProcess, name: string): Promise<void> {
  const [code, signal] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${name} ended with ${signal ?? code}`);
}

async function onPath(name: string, searchPath: string | undefined): Promise<string | undefined> {
  for (const folder of (searchPath ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (folder !== '' && (await isProgram(path))) return path;
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** False for another program of this name, another machine's format, and a broken file. */
async function runs(path: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  return promisify(execFile)(path, ['--version'], { env, timeout: VERSION_CHECK_MS }).then(
    ({ stdout }) => stdout.startsWith('temporal version'),
    () => false,
  );
}

async function writableFolder(...folders: string[]): Promise<string> {
  const refused: unknown[] = [];
  for (const folder of folders) {
    try {
      await mkdir(folder, { recursive: true });
      await access(folder, constants.W_OK);
      return folder;
    } catch (err) {
      refused.push(err);
    }
  }
  throw new ServiceError('Unavailable', `neither ${folders.join(' nor ')} can be written to, so Temporal cannot be kept there`, {
    cause: refused[0],
  });
}

function every(ms: number, say: (line: string) => void): (line: string) => void {
  let last = performance.now();
  return (line) => {
    if (performance.now() - last < ms) return;
    last = performance.now();
    say(line);
  };
}

function reasonOf(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  return err.cause instanceof Error ? `${err.message} (${err.cause.message})` : err.message;
}
