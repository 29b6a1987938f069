import type { RunRef } from '../../../projects/runs.ts';
import type { UnsettledUpdates } from '../../../records/notedUpdates.ts';
import type { ClickHouse, ClickHouseRead } from '../clickHouse.ts';

/**
 * The engine for all that read: a statement begins when the updates that were answered before it are in the records that it may read. What writes them
 * has the engine itself.
 */
export function settledReads(engine: ClickHouse, unsettled: () => UnsettledUpdates): ClickHouse {
  const settled = (read: Pick<ClickHouseRead<unknown>, 'sql' | 'params'>): Promise<void> | undefined =>
    unsettled().isEmpty ? undefined : unsettled().settle(runsOf(read));
  return {
    isEmbedded: engine.isEmbedded,
    written: engine.written,
    writtenTraces: engine.writtenTraces,
    settled: async ({ runId }) => {
      if (!unsettled().isEmpty) await unsettled().settle((run) => run.runId === runId);
    },
    async query(read) {
      await settled(read);
      return engine.query(read);
    },
    async page(read) {
      await settled(read);
      return engine.page(read);
    },
    async *stream(read) {
      await settled(read);
      yield* engine.stream(read);
    },
    insert: (insert) => engine.insert(insert),
    insertInOrder: (steps, confirm) => engine.insertInOrder(steps, confirm),
    deleteFrom: (deletion) => engine.deleteFrom(deletion),
    command: (command) => engine.command(command),
    ping: () => engine.ping(),
    broken: engine.broken,
    close: () => engine.close(),
  };
}

/** The runs that a statement may read: those that it names where it is limited to some, else those of its projects, else all. */
function runsOf({ sql, params = {} }: Pick<ClickHouseRead<unknown>, 'sql' | 'params'>): (run: RunRef) => boolean {
  const named = new Set<unknown>(Object.values(params).flat());
  if (/\brun_id (=|IN)/.test(sql)) return ({ runId }) => named.has(runId);
  if (/\bproject_id (=|IN)/.test(sql)) return ({ projectId }) => named.has(projectId);
  return () => !/\bFROM system\./.test(sql);
}
