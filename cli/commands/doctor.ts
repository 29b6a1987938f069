import { access, glob, stat, statfs } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { z } from 'zod';
import { HttpStatusError, resolveProject, ServiceClient, ValueError } from '../../client/index.ts';
import { VERSION } from '../../shared/config/version.ts';
import type { User } from '../../shared/wire/accounts.ts';
import { checkService, type Look, type ServiceOptions, useCredentials, versionProblem } from '../credentials/connect.ts';
import { type FoundService, findService } from '../credentials/findService.ts';
import { findLocalService } from '../credentials/localService.ts';
import { loginPath } from '../credentials/loginFile.ts';
import { commandErrorOf } from '../terminal/commandErrorOf.ts';
import { type ExitCode, exitCodes } from '../terminal/exitCodes.ts';
import { say, sayJson, styled, type Terminal } from '../terminal/terminal.ts';

interface Finding {
  about: string;
  state: 'ok' | 'warning' | 'problem';
  found: string;
  /** Says how to correct a warning or a problem. */
  advice?: string;
  exitCode?: ExitCode;
}

/** Free bytes below which the stores will soon have no room: their merges need some. */
const LOW_DISK_BYTES = 1024 ** 3;
/** Reads TypeScript by itself from here on. */
const LEAST_NODE = [22, 18] as const;

const marks = { ok: ['green', '✓'], warning: ['yellow', '!'], problem: ['red', '✗'] } as const;

/** Looks at everything that a command needs, in the order in which it needs it. What cannot be looked at because of an earlier problem is left out. */
export async function doctor(terminal: Terminal, options: ServiceOptions & { json?: boolean }): Promise<ExitCode> {
  const findings: Finding[] = [];
  for await (const finding of look(terminal, options)) {
    findings.push(finding);
    if (!options.json) await say(terminal, lines(terminal, finding));
  }
  if (options.json) await sayJson(terminal, findings);
  const problem = findings.find(({ state }) => state === 'problem');
  return problem?.exitCode ?? (problem ? exitCodes.failed : exitCodes.done);
}

function lines({ stdout }: Terminal, { about, state, found, advice }: Finding): string {
  const [style, mark] = marks[state];
  return `${styled(stdout, style, mark)} ${about}: ${found}${advice ? `\n    ${advice}` : ''}`;
}

async function* look(terminal: Terminal, options: ServiceOptions): AsyncGenerator<Finding> {
  yield ofNode();
  yield* ofLoginFile(terminal);
  yield* ofDataFolder(terminal);
  const found = await findService(terminal, options.apiUrl).catch((err: unknown) => problemOf('service', err));
  if ('about' in found) return void (yield found);
  const seen = await checkService(found, terminal.signal).catch((err: unknown) => problemOf('service', err));
  if ('about' in seen) {
    yield seen;
    yield* ofTemporal(terminal);
    return;
  }
  const service = ofService(found, seen);
  yield service;
  if (service.state === 'problem') return; // one of another version may answer anything
  yield* ofCaller(terminal, found);
}

const problemOf = (about: string, err: unknown): Finding => {
  const { message: found, exitCode } = commandErrorOf(err);
  return { about, state: 'problem', found, exitCode };
};

function ofNode(): Finding {
  const found = `${process.versions.node}, of the command ${VERSION}`;
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isNew = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1]);
  if (isNew) return { about: 'Node.js', state: 'ok', found };
  return {
    about: 'Node.js',
    state: 'problem',
    found,
    advice: `install Node.js ${LEAST_NODE.join('.')} or newer: older ones read no TypeScript`,
  };
}

async function* ofLoginFile(terminal: Terminal): AsyncGenerator<Finding> {
  const path = loginPath(terminal);
  const file = await stat(path).catch(() => undefined);
  if (!file || process.platform === 'win32') return;
  if ((file.mode & 0o077) === 0) yield { about: 'login', state: 'ok', found: `${path}, readable by you alone` };
  else yield { about: 'login', state: 'problem', found: `${path} is open to other users`, advice: `close it: chmod 600 ${path}` };
}

async function* ofDataFolder(terminal: Terminal): AsyncGenerator<Finding> {
  const local = await findLocalService(terminal);
  if (!local) return;
  const [folder, disk] = await Promise.all([stat(local.folder), statfs(local.folder)]);
  const about = 'data folder';
  const free = disk.bavail * disk.bsize;
  const found = `${local.folder}, ${(free / 1024 ** 3).toFixed(1)} GiB free`;
  if (process.getuid && folder.uid !== process.getuid())
    yield {
      about,
      state: 'problem',
      found: `${local.folder} belongs to another user`,
      advice: 'name a folder of your own with DATA_DIR',
    };
  else if (free < LOW_DISK_BYTES) yield { about, state: 'problem', found, advice: 'make room: the stores need some to write' };
  else yield { about, state: 'ok', found };
}

function ofService({ apiUrl, urlFrom }: FoundService, seen: Look): Finding {
  const about = 'service';
  const found = `${apiUrl} (from ${urlFrom}), version ${seen.version}`;
  const problem = versionProblem(apiUrl, seen);
  if (problem) return { about, state: 'problem', found, advice: problem, exitCode: exitCodes.unreachable };
  if (seen.message === 'ready') return { about, state: 'ok', found };
  return {
    about,
    state: 'warning',
    found: `${found}: ${seen.message}`,
    advice: 'its log says more; what does not need that part works',
  };
}

async function* ofCaller(terminal: Terminal, found: FoundService): AsyncGenerator<Finding> {
  try {
    useCredentials(terminal, found);
    const client = new ServiceClient({ apiUrl: found.apiUrl });
    const who = await client.send<z.output<typeof User>>('/current_user').then(
      ({ email, role }) => `${email} (${role})`,
      (err: unknown) => {
        if (err instanceof HttpStatusError && err.status === 403) return 'a key of one project';
        throw err;
      },
    );
    yield { about: 'credentials', state: 'ok', found: `${who}, from ${found.credentialsFrom}` };
    yield* ofProject(client, terminal);
  } catch (err) {
    const problem = problemOf('credentials', err);
    yield { ...problem, found: `${problem.found} (from ${found.credentialsFrom})` };
  }
}

async function* ofProject(client: ServiceClient, { environment }: Terminal): AsyncGenerator<Finding> {
  const { SERVICE_PROJECT: name, SERVICE_PROJECT_ID: id } = environment;
  if (!name && !id) return;
  try {
    await resolveProject(client, {});
    yield { about: 'project', state: 'ok', found: name || (id as string) };
  } catch (err) {
    if (!(err instanceof ValueError)) throw err;
    yield {
      about: 'project',
      state: 'problem',
      found: err.message,
      advice: 'correct SERVICE_PROJECT or SERVICE_PROJECT_ID; a project that is named here is made by its first log',
      exitCode: exitCodes.usage,
    };
  }
}

/** Where no service runs, `assay start` may be next: whether it has what it fetches the first time. */
async function* ofTemporal({ environment }: Terminal): AsyncGenerator<Finding> {
  if (environment.TEMPORAL_ADDRESS) return;
  const about = 'Temporal';
  for (const folder of (environment.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'temporal');
    if (await isThere(path)) return void (yield { about, state: 'ok', found: path });
  }
  const kept = join(environment.XDG_CACHE_HOME || join(homedir(), '.cache'), 'assay');
  for await (const name of glob('temporal-*', { cwd: kept })) return void (yield { about, state: 'ok', found: join(kept, name) });
  yield {
    about,
    state: 'warning',
    found: 'none on the PATH, none kept',
    advice: 'the first assay start fetches it, or builds it with Go (about 3 minutes, once): be online then',
  };
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
