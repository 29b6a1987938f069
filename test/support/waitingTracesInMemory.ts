import { togetherOf } from '../../shared/records/provisionalTrace.ts';
import type { WaitingTrace, WaitingTraceStore } from '../../shared/records/stubTraces.ts';

/** Traces that wait for their root, where there is no Postgres. */
export function waitingTracesInMemory(): WaitingTraceStore {
  const waiting = new Map<string, WaitingTrace & { until: number }>();
  return {
    async keep(traces, waitMs) {
      for (const one of traces) {
        const known = waiting.get(one.trace.id);
        const until = known?.until ?? performance.now() + waitMs;
        waiting.set(one.trace.id, { ...one, trace: known ? togetherOf(known.trace, one.trace) : one.trace, until });
      }
    },
    find: async (traceIds) => traceIds.flatMap((id) => waiting.get(id) ?? []),
    due: async (limit) => [...waiting.values()].filter(({ until }) => until <= performance.now()).slice(0, limit),
    async forget(traceIds) {
      for (const id of traceIds) waiting.delete(id);
    },
  };
}
