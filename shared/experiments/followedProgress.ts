import type { RunRef } from '../projects/runs.ts';
import { type ExperimentRun, isUnderWay } from './experiment.ts';
import type { FigureSoFar } from './figuresSoFar.ts';
import type { RunProgressReport } from './progress.ts';
import { runOfProject } from './runOfProject.ts';

/** Rows that failed in the same way. */
export interface FailureCause {
  /** Error of one of these rows. Null where only the status shows the failure. */
  message: string | null;
  statusCode: number | null;
  /** True when all of them have just this message; else the messages differ in numbers or ids. */
  isSame: boolean;
  rows: number;
  /** Some of them, the first of the run first. */
  examples: { traceId: string; ordinal: number | null; trial: number | null }[];
}

/** How far a run is, for those who watch it. */
export interface WatchedProgress {
  run: ExperimentRun;
  report: RunProgressReport;
  failures: readonly FailureCause[];
  /** Figures that are some seconds old at most while the run goes on. Undefined until they were read. */
  figures: readonly FigureSoFar[] | undefined;
  /** Rows recorded per second lately; null while it is not known. */
  recentRate: number | null;
  /** Until the run ends at that rate; null where nothing says it. */
  secondsLeft: number | null;
}

export interface WatchDeps {
  find(experimentId: string): Promise<ExperimentRun | undefined>;
  progress(run: ExperimentRun): Promise<RunProgressReport>;
  figuresSoFar(run: ExperimentRun): Promise<FigureSoFar[]>;
  failureCauses(run: RunRef): Promise<FailureCause[]>;
  now(): number;
}

/** Milliseconds over which the rate is taken, and the fewest that give one. */
const RATE_MS = 30_000;
const LEAST_RATE_MS = 2_000;
/** Milliseconds between two reads of the figures while rows come: they are read of all values. */
const FIGURES_MS = 10_000;
/** Reads of figures take at most one part of so many of the time. */
const FIGURES_SHARE = 10;
/** Milliseconds for which what was read of a run at rest is good enough. */
const REST_MS = 10_000;

interface Sample {
  at: number;
  rows: number;
  scores: number;
}

/** The state that one look leaves to the next. */
interface Memory {
  readAt: number;
  samples: Sample[];
  figures: FigureSoFar[] | undefined;
  /** Set while the figures are read. */
  reading: Promise<void> | undefined;
  figuresAt: number;
  figuresTookMs: number;
  /** The rows and scores that the figures were read of. */
  figuresOf: string;
}

export interface WatchedState extends WatchedProgress {
  memory: Memory;
}

/** @returns a read of how far runs are, with what a single look does not say: the rate of late, and which rows fail */
export function readWatchedProgress({ find, progress, figuresSoFar, failureCauses, now }: WatchDeps) {
  /** Figures are read beside the looks while rows come, so that a large run is still shown every second; of a run at rest they are waited for. */
  async function renewFigures(run: ExperimentRun, { rowsDone, scoresDone }: RunProgressReport, memory: Memory): Promise<void> {
    const of = `${run.workflowNumber} ${run.state} ${rowsDone} ${scoresDone}`;
    const isAtRest = !isUnderWay(run.state);
    const isDue = isAtRest || now() - memory.figuresAt >= Math.max(FIGURES_MS, memory.figuresTookMs * FIGURES_SHARE);
    if (rowsDone > 0 && of !== memory.figuresOf && !memory.reading && isDue) {
      memory.figuresOf = of;
      memory.figuresAt = now();
      memory.reading = readFigures(run, memory);
    }
    if (isAtRest) await memory.reading;
  }

  async function readFigures(run: ExperimentRun, memory: Memory): Promise<void> {
    try {
      memory.figures = await figuresSoFar(run);
    } catch {
      memory.figuresOf = ''; // read again at the next look
    } finally {
      memory.reading = undefined;
      memory.figuresTookMs = now() - memory.figuresAt;
    }
  }

  /** @throws ServiceError `NotFound` when the run is gone */
  return async (ref: RunRef, before: WatchedState | undefined): Promise<WatchedState> => {
    const run = await runOfProject(find, ref);
    const memory = before?.memory ?? newMemory();
    const isSameRun = before !== undefined && sameRun(before.run, run);
    if (before && isSameRun && !isUnderWay(run.state) && now() - memory.readAt < REST_MS) return before;
    const report = await progress(run);
    memory.readAt = now();
    memory.samples = run.state === 'running' ? sampled(isSameRun ? memory.samples : [], report, now()) : [];
    await renewFigures(run, report, memory);
    const isSameFailure = isSameRun && before.report.rowsFailed === report.rowsFailed;
    const rates = ratesOf(memory.samples);
    const next: WatchedState = {
      ...{ run, report, memory, figures: memory.figures },
      failures: isSameFailure ? before.failures : report.rowsFailed === 0 ? [] : await failureCauses(ref),
      recentRate: rates?.rows ?? null,
      secondsLeft: secondsLeft(report, rates?.rows ?? report.rowsPerSecond, rates?.scores ?? null),
    };
    return before && textOf(before) === textOf(next) ? before : next;
  };
}

const newMemory = (): Memory => ({
  ...{ readAt: 0, samples: [], reading: undefined, figures: undefined },
  ...{ figuresAt: Number.NEGATIVE_INFINITY, figuresTookMs: 0, figuresOf: '' },
});

const sameRun = (one: ExperimentRun, other: ExperimentRun): boolean =>
  one.state === other.state &&
  one.workflowNumber === other.workflowNumber &&
  one.settings.concurrency === other.settings.concurrency;

/** Returns the state as text. Another text is another state; the rate since the start changes all the time, so it is left out. */
const textOf = ({ memory: _, run, report: { rowsPerSecond, ...report }, ...said }: WatchedState): string =>
  JSON.stringify([run.state, run.workflowNumber, run.settings, report, said]);

function sampled(before: readonly Sample[], { rowsDone, scoresDone }: RunProgressReport, at: number): Sample[] {
  const kept = before.filter((sample) => at - sample.at <= RATE_MS);
  return [...kept, { at, rows: rowsDone, scores: scoresDone }];
}

function ratesOf(samples: readonly Sample[]): { rows: number; scores: number } | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at - first.at < LEAST_RATE_MS) return null;
  const perSecond = (count: number) => (1_000 * Math.max(0, count)) / (last.at - first.at);
  return { rows: perSecond(last.rows - first.rows), scores: perSecond(last.scores - first.scores) };
}

/** Rounded to whole seconds; null of a run that is not running, and where no rate says it. */
export function secondsLeft(
  { state, rowsTotal, rowsDone, scoresTotal, scoresDone }: RunProgressReport,
  rowRate: number | null,
  scoreRate: number | null,
): number | null {
  if (state !== 'running') return null;
  const [left, rate] = rowsDone < rowsTotal ? [rowsTotal - rowsDone, rowRate] : [scoresTotal - scoresDone, scoreRate];
  return left > 0 && rate !== null && rate > 0 ? Math.ceil(left / rate) : null;
}
