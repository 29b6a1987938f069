import { fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { NICENESS } from '../shared/childProcesses/lowerPriority.ts';
import { percentile } from '../shared/statistics/percentile.ts';
import { addManyDatasets } from '../test/support/manyDatasets.ts';
import { type ServiceFolder, type ServiceProcess, serviceFolder } from '../test/support/serviceProcess.ts';
import { logAndSearch, type Met } from '../test/support/victim.ts';
import { prepareInProcess } from '../test/support/worstThingProcess.ts';
import { type Neighbour, neighbourSettings, newNeighbour, type WorstThing, worstThings } from '../test/support/worstThings.ts';

/** Limits for the other caller, who must not notice the bad requests. */
const SLOWEST_MS = 3_000;
const TIMES_QUIET_P95 = 3;
const MEMORY_MIB = 3 * 1024;
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
 * One caller does each of the worst things in turn while another one, with a project of their own, logs a trace and searches it every 0.3 s. Prints
 * for each thing the other's calls while it is quiet and meanwhile (p50, p95 and slowest, in milliseconds, and the slowest as a multiple of the quiet
 * p95), those that were answered by an error or not at all, what the bad requests were answered, the most memory (PSS) of the process tree, and whether
 * the service answers afterwards. Ends with 1 when a goal is missed.
 *
 * The bad caller runs in a process at a lower priority, as if it sat on another machine. Memory is looked at in the quiet time as well, since a look at
 * the pages of the service holds the service up.
 *
 * Options: `--seconds` for which each thing is done (15), `--quiet` seconds before each (17, more than a hundred calls), `--big` traces of 1 MB (1000),
 * `--datasets` that are there (100000), `--only` those whose name contains it, `--numbers` those of these lines of the table (1,4,10). A service that no
 * longer answers is killed and started again for the next thing.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '15' },
      quiet: { type: 'string', default: '17' },
      big: { type: 'string', default: '1000' },
      datasets: { type: 'string', default: '100000' },
      only: { type: 'string', default: '' },
      numbers: { type: 'string', default: '' },
    },
  });
  const scale = { bigTraces: Number(values.big), badMs: Number(values.seconds) * 1_000, quietMs: Number(values.quiet) * 1_000 };
  const numbers = values.numbers.split(',').filter(Boolean).map(Number);
  const things = worstThings.filter(
    ({ name }, index) => name.includes(values.only) && (numbers.length === 0 || numbers.includes(index + 1)),
  );
  print(
    `The bad caller runs at a lower priority (nice ${NICENESS}): its own work takes no time from the service, as from another machine.`,
  );
  const folder = await mkdtemp(join(tmpdir(), 'assay-bench-'));
  const results: Result[] = [];
  try {
    await addManyDatasets(join(folder, 'data'), Number(values.datasets));
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
  const act = await prepareInProcess(thing, bad, { bigTraces });
  const memory = watchMemory(service.child.pid as number);
  const quiet = await logAndSearch(other, AbortSignal.timeout(quietMs));
  memory.most = 0;
  const ended = new AbortController();
  const others = logAndSearch(other, ended.signal);
  const statuses = await act(badMs);
  await pause(AFTERWARDS_MS);
  ended.abort();
  const [meanwhile, pss] = [await others, memory.end()];
  return { name: thing.name, quiet, meanwhile, statuses, pss, answersAfterwards: await answers(other) };
}

/** The most memory of the process tree since it was set to 0, in MiB. */
function watchMemory(pid: number): { most: number; end(): number } {
  const child = fork(new URL('./treeMemory.process.ts', import.meta.url), [String(pid)]);
  const watched = {
    most: 0,
    end() {
      child.disconnect();
      return watched.most;
    },
  };
  child.on('message', (pss: number) => {
    watched.most = Math.max(watched.most, pss);
  });
  return watched;
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
const quietP95 = ({ quiet }: Pick<Result, 'quiet'>): number => percentile(sorted(quiet), 0.95);
const timesOf = (met: Met, quietP95: number): string[] => [...times(met), `${(slowest(met) / quietP95).toFixed(1)} x`];
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
    ['3 x p95', slowest(meanwhile) < TIMES_QUIET_P95 * quietP95({ quiet })],
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
  'of quiet p95',
  'meanwhile: p50',
  'p95',
  'slowest',
  'of quiet p95',
  'errors',
  'answers to it',
  'PSS, MiB',
  'alive',
  'missed',
];
const cellsOf = (result: Result): string[] => [
  result.name,
  ...timesOf(result.quiet, quietP95(result)),
  ...timesOf(result.meanwhile, quietP95(result)),
  `${result.meanwhile.errors.length} of ${result.meanwhile.took.length} (quiet ${result.quiet.took.length})`,
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
