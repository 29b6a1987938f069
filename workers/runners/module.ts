import { Cells } from '../../shared/childProcesses/cells.ts';
import type { CodeIsolation } from '../../shared/childProcesses/codeIsolation.ts';
import type { ExperimentRow, ExperimentRun } from '../../shared/experiments/experiment.ts';
import type { RowResult } from '../../shared/experiments/rowTrace.ts';
import type { RowContext, RowRunner } from '../../shared/experiments/runRows.ts';
import { HostDied, type HostedModule, ModuleHost } from './moduleProcess.ts';

/** Times a row may take its process down before it is recorded as failed. */
const MAX_DEATHS_PER_ROW = 3;
/** Processes in which rows under suspicion run, each alone. */
const MAX_CELLS = 4;

/**
 * Runs rows in a child process that holds the module. When the process dies, or must be ended because a row holds its event loop, any of the rows
 * it had may be the cause: each of them is run again, alone in a process. The guilty one fails after {@link MAX_DEATHS_PER_ROW} deaths or at its
 * time limit, the others finish.
 * @param memoryMb MiB of the heap of each process
 */
export function moduleRunner(run: ExperimentRun, modulePath: string, isolation: CodeIsolation, memoryMb: number): RowRunner {
  const module: HostedModule = { run, modulePath, isolation, memoryMb };
  const together = new ModuleHost(module);
  together.warm(); // while the first rows are read
  const cells = new Cells(MAX_CELLS, () => new ModuleHost(module));

  const alone = async (row: ExperimentRow, context: RowContext, { startedAt }: HostDied): Promise<RowResult> => {
    let started = startedAt;
    let diedAt = Date.now();
    for (let deaths = 1; deaths < MAX_DEATHS_PER_ROW; deaths++) {
      const isOver = context.waiting();
      const cell = await cells.take().finally(isOver);
      try {
        context.signal.throwIfAborted();
        return { ...(await cell.run(row, context)), attempts: deaths + 1 };
      } catch (err) {
        if (!(err instanceof HostDied)) throw err;
        if (err.verdict) return { ...err.verdict, attempts: deaths + 1 };
        started = err.startedAt;
        diedAt = Date.now();
      } finally {
        cells.giveBack(cell);
      }
    }
    return {
      output: null,
      error: `the runner's process died ${MAX_DEATHS_PER_ROW} times on this row`,
      spans: [],
      startedAt: started,
      durationNs: (diedAt - started.getTime()) * 1_000_000,
      attempts: MAX_DEATHS_PER_ROW,
    };
  };

  return {
    async run(row, context) {
      try {
        return await together.run(row, context);
      } catch (err) {
        if (!(err instanceof HostDied)) throw err;
        return err.verdict ?? (await alone(row, context, err));
      }
    },
    async close() {
      await Promise.all([together.close(), cells.close()]);
    },
  };
}
