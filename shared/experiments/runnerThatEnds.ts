import { ServiceError } from '../errors/errors.ts';
import type { RowRunner } from './runRows.ts';
import { reasonOf } from './untilStored.ts';

/**
 * A runner whose every row ends: what it throws for reasons that are neither a store's nor the machine's would come again with each try of its chunk,
 * and is that row's error.
 */
export const runnerThatEnds = (runner: RowRunner): RowRunner => ({
  async run(row, context) {
    const startedAt = new Date();
    try {
      return await runner.run(row, context);
    } catch (err) {
      context.signal.throwIfAborted();
      if (context.stopping.aborted && err === context.stopping.reason) throw err;
      if (err instanceof ServiceError || isOfSystem(err)) throw err;
      const error = `the row cannot be run: ${reasonOf(err)}`;
      return { output: null, error, spans: [], startedAt, durationNs: null, attempts: null };
    }
  },
  close: () => runner.close(),
});

/** Out of memory, processes or open files, or a broken connection: it may pass. */
const isOfSystem = (err: unknown): boolean => /^E[A-Z]{2,}$/.test(String((err as { code?: unknown } | null)?.code));
