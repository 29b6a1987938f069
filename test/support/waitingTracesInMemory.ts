import type { WaitingTrace, WaitingTraceStore } from '../../shared/records/stubTraces.ts';

/** Traces that wait for their root, where there is no Postgres. */
export function waitingTracesInMemory(): WaitingTraceStore {
  const waiting = new Map<string, WaitingTrace & { until: number }>();
  return {
    async keep(traces, waitMs) {
      for (const one of traces) {
        const known = waiting.get(one.trace.id);
        if (!known) waiting.set(one.trace.id, { ...one, until: performance.now() + waitMs });
        else if ((one.trace.created_at ?? '') < (known.trace.created_at ?? '')) waiting.set(one.trace.id, { ...known, ...one });
      }
    },
    due: async (limit) => [...waiting.values()].filter(({ until }) => until <= performance.now()).slice(0, limit),
    async forget(traceIds) {
      for (const id of traceIds) waiting.delete(id);
    },
  };
}
