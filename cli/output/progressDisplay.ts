import type { ExperimentProgress } from '../../client/index.ts';
import { type Terminal, widthOf } from '../terminal/terminal.ts';
import { progressLine, progressText } from './progressText.ts';

export interface ProgressDisplay {
  show(progress: ExperimentProgress): void;
  /** Leaves the last state on the screen; what is written next stands below it. */
  end(): void;
}

/** Milliseconds between two lines of a log: a build of an hour has a few hundred, and never looks dead. */
const LINE_EVERY_MS = 10_000;

/** On a terminal one line that is drawn anew; elsewhere a line at the start, every ten seconds, at each change of the state or of what the run waits for, and at the end. */
export async function progressDisplay({ stderr, environment }: Terminal): Promise<ProgressDisplay> {
  if (stderr.isTTY && environment.TERM !== 'dumb') {
    const { createLogUpdate } = await import('log-update');
    const update = createLogUpdate(stderr);
    return {
      show: (progress) => update(progressText(progress, widthOf(stderr, environment) - 1)),
      end: () => update.done(),
    };
  }
  let shown: Pick<ExperimentProgress, 'state' | 'message'> | undefined;
  let shownAt = 0;
  let last: string | undefined;
  let waiting: string | undefined;
  const put = (line: string) => {
    waiting = undefined;
    if (line === last) return;
    last = line;
    stderr.write(`${line}\n`);
  };
  return {
    show(progress) {
      const line = progressLine(progress);
      const now = performance.now();
      waiting = line;
      if (progress.state === shown?.state && progress.message === shown.message && now - shownAt < LINE_EVERY_MS) return;
      shown = progress;
      shownAt = now;
      put(line);
    },
    end: () => waiting !== undefined && put(waiting),
  };
}
