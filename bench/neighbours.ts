import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { percentile } from '../shared/metrics/percentile.ts';
import { type ServiceFolder, type ServiceProcess, serviceFolder } from '../test/support/serviceProcess.ts';
import { logAndSearch, type Met } from '../test/support/victim.ts';
import { type Neighbour, neighbourSettings, newNeighbour, type WorstThing, worstThings } from '../test/support/worstThings.ts';
import { prepareInThread } from '../test/support/worstThingThread.ts';
import { treeMemory } from './treeMemory.ts';

/** What the other caller must not feel. */
const SLOWEST_MS = 3_000;
const TIMES_QUIET_P95 = 3;
const MEMORY_MIB = 3 * 1024;
const SAMPLE_EVERY_MS = 250;
/** The other caller goes on so long after the last bad request: what it left behind counts too. */
const AFTERWARDS_MS = 3_000;
const ANSWERS_WITHIN_MS = 10_000;

interface Result {
  name: string;
  quiet: Met;
  meanwhile: Met;
  statuses: number[];
  pss: number;
  answersAfterwards: boolean;
}

/**
 * One caller does each of ten worst things in turn while another one, with a project of their own, logs a trace and searches it every 0.3 s. Prints
 * for each thing the other's calls while it is quiet and meanwhile (p50, p95 and slowest, in milliseconds), those that were answered by an error or
 * not at all, what the bad requests were answered, the most memory (PSS) of the process tree, and whether the service answers afterwards. Ends with 1
 * when a goal is missed. Options: `--seconds` for which each thing is done (15), `--quiet` seconds before each (8), `--big` traces of 1 MB (1000),
 * `--only` those whose name contains it. A service that no longer answers is killed and started again for the next thing.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '15' },
      quiet: { type: 'string', default: '8' },
      big: { type: 'string', default: '1000' },
      only: { type: 'string', default: '' },
    },
  });
  const scale = { bigTraces: Number(values.big), badMs: Number(values.seconds) * 1_000, quietMs: Number(values.quiet) * 1_000 };
  const things = worstThings.filter(({ name }) => name.includes(values.only));
  const folder = await mkdtemp(join(tmpdir(), 'assay-bench-'));
  const results: Result[] = [];
  try {
    const home = await serviceFolder(join(folder, 'data'), await neighbourSettings(folder));
    let service = await home.start();
    try {
      for (const thing of things) {
        const result = await measure(service, thing, scale);
        results.push(result);
        print(`${result.name}: ${summary(result)}`);
        for (const error of new Set(result.meanwhile.errors)) print(`  ${error}`);
        if (!result.answersAfterwards) service = await startedAgain(home, service);
      }
    } finally {
      await service.kill('SIGKILL');
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  printTable(results);
  if (results.some((result) => missed(result).length > 0)) process.exitCode = 1;
}

async function startedAgain(home: ServiceFolder, service: ServiceProcess): Promise<ServiceProcess> {
  print(service.output().slice(-2_000));
  await service.kill('SIGKILL');
  return home.start();
}

async function measure(
  service: ServiceProcess,
  thing: WorstThing,
  { bigTraces, badMs, quietMs }: { bigTraces: number; badMs: number; quietMs: number },
): Promise<Result> {
  const [bad, other] = [await newNeighbour(service, 'bad'), await newNeighbour(service, 'other')];
  const act = await prepareInThread(thing, bad, { bigTraces });
  const quiet = await logAndSearch(other, AbortSignal.timeout(quietMs));
  const ended = new AbortController();
  const memory = mostMemory(service.child.pid as number, ended.signal);
  const others = logAndSearch(other, ended.signal);
  const statuses = await act(badMs);
  await pause(AFTERWARDS_MS);
  ended.abort();
  const [meanwhile, pss] = [await others, await memory];
  return { name: thing.name, quiet, meanwhile, statuses, pss, answersAfterwards: await answers(other) };
}

/** The most memory of the process tree until the signal, in MiB. */
async function mostMemory(pid: number, signal: AbortSignal): Promise<number> {
  let most = 0;
  while (!signal.aborted) {
    most = Math.max(most, (await treeMemory(pid)).pss);
    await pause(SAMPLE_EVERY_MS);
  }
  return most;
}

const answers = async ({ url }: Neighbour): Promise<boolean> => {
  try {
    return (await fetch(`${url}/healthcheck`, { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) })).ok;
  } catch {
    return false;
  }
};

const sorted = ({ took }: Met): number[] => took.toSorted((a, b) => a - b);
const slowest = (met: Met): number => sorted(met).at(-1) ?? 0;
const times = (met: Met): string[] =>
  [...[0.5, 0.95].map((share) => percentile(sorted(met), share)), slowest(met)].map((one) => one.toFixed(0));
const counted = (statuses: readonly number[]): string =>
  [...Map.groupBy(statuses, (status) => status)]
    .map(([status, all]) => `${all.length} x ${status === 0 ? 'no answer' : status}`)
    .join(', ') || '-';

/** The goals that were missed. */
function missed({ quiet, meanwhile, statuses, pss, answersAfterwards }: Result): string[] {
  const goals: [string, boolean][] = [
    ['slowest', slowest(meanwhile) < SLOWEST_MS],
    ['3 x p95', slowest(meanwhile) < TIMES_QUIET_P95 * percentile(sorted(quiet), 0.95)],
    ['errors', meanwhile.errors.length === 0],
    ['memory', pss < MEMORY_MIB],
    ['5xx', statuses.every((status) => status < 500)],
    ['dead', answersAfterwards],
  ];
  return goals.flatMap(([name, reached]) => (reached ? [] : [name]));
}

const columnNames = [
  'thing',
  'quiet: p50',
  'p95',
  'slowest',
  'meanwhile: p50',
  'p95',
  'slowest',
  'errors',
  'answers to it',
  'PSS, MiB',
  'alive',
  'missed',
];
const cellsOf = (result: Result): string[] => [
  result.name,
  ...times(result.quiet),
  ...times(result.meanwhile),
  `${result.meanwhile.errors.length} of ${result.meanwhile.took.length}`,
  counted(result.statuses),
  result.pss.toFixed(0),
  result.answersAfterwards ? 'yes' : 'NO',
  missed(result).join(', ') || '-',
];
const summary = (result: Result): string =>
  cellsOf(result)
    .slice(1)
    .map((cell, index) => `${columnNames[index + 1]} ${cell}`)
    .join('; ');

function printTable(results: readonly Result[]): void {
  const lines = [columnNames, columnNames.map(() => '---'), ...results.map(cellsOf)];
  print(`\n${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}`);
}

const print = (line: string) => process.stdout.write(`${line}\n`);
