import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FollowedStates } from '../../shared/concurrency/followedStates.ts';
import { LiveStreams } from '../../shared/concurrency/liveStreams.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RunState } from '../../shared/records/liveRecords.ts';
import { clickhouseRunState } from '../../shared/stores/clickhouse/reads/runState.ts';
import { startSearchService } from '../support/searchService.ts';

let service: Awaited<ReturnType<typeof startSearchService>>;
beforeAll(async () => {
  service = await startSearchService();
});
afterAll(() => service[Symbol.asyncDispose]());

const followed = (read: () => Promise<RunState>, log: { warn(...line: unknown[]): void }) =>
  new FollowedStates({ streams: new LiveStreams(), nameOf: ({ runId }: { runId: string }) => runId, read, log });

test('a state counts each record once, however often it was written, and is the known one while the numbers stay', async () => {
  const runId = newId();
  const run = { projectId: service.projectId, runId };
  const read = clickhouseRunState(service.clickhouse);
  const empty = await read(run, undefined);
  expect(empty).toEqual({ counts: { traces: 0, spans: 0, sessions: 0 }, newest: { traces: null, spans: null, sessions: null } });
  const trace = service.record({ run_id: runId });
  const later = service.record({ run_id: runId, type: 'llm', created_at: '2026-03-01T12:00:01.500000Z', trace_id: trace.id });
  const tool = service.record({ run_id: runId, type: 'tool', created_at: '2026-03-01T12:00:01.000000Z', trace_id: trace.id });
  await service.store([trace, later, tool]);
  const full = await read(run, empty);
  expect(full).toEqual({
    counts: { traces: 1, spans: 2, sessions: 0 },
    newest: { traces: trace.created_at, spans: later.created_at, sessions: null },
  });
  expect(await read(run, full)).toBe(full);
  await service.store([{ ...trace, version: 2 }]);
  expect(await read(run, full)).toBe(full);
  expect((await read({ ...run, expiry: { before: '2026-03-01T12:00:01.200000Z', kept: [] } }, undefined)).counts).toEqual({
    ...{ traces: 0, spans: 1, sessions: 0 },
  });
});

test('however many follow a run, it is read for all of them at once, and not any more when they have left', async () => {
  let reads = 0;
  let traces = 0;
  let known: RunState | undefined;
  const states = async (): Promise<RunState> => {
    reads++;
    if (known?.counts.traces !== traces)
      known = { counts: { traces, spans: 0, sessions: 0 }, newest: { traces: null, spans: null, sessions: null } };
    return known as RunState;
  };
  const live = followed(states, { warn: () => undefined });
  const run = { projectId: newId(), runId: newId() };
  const all = await Promise.all(Array.from({ length: 40 }, (_, index) => live.follow(run, `user ${index % 8}`)));
  expect(reads).toBe(40); // one each to begin with, since what came before is not new
  traces = 1;
  const { signal } = new AbortController();
  const changed = await Promise.all(all.map((one) => one.changed(one.first, 5_000, signal)));
  expect(changed.map((state) => state?.counts.traces)).toEqual(Array(40).fill(1));
  expect(reads).toBe(41);
  for (const one of all) one[Symbol.dispose]();
  await sleep(1_500);
  expect(reads).toBe(41);
});

test('a run that cannot be read is tried again, and the one who leaves is not waited for', async () => {
  let isBroken = false;
  let traces = 0;
  const warnings: unknown[] = [];
  const states = async (): Promise<RunState> => {
    if (isBroken) throw new Error('the store is gone');
    return { counts: { traces: traces++, spans: 0, sessions: 0 }, newest: { traces: null, spans: null, sessions: null } };
  };
  const live = followed(states, { warn: (...line: unknown[]) => warnings.push(line) });
  const run = { projectId: newId(), runId: newId() };
  using one = await live.follow(run, 'somebody');
  isBroken = true;
  const { signal } = new AbortController();
  expect(await one.changed(one.first, 1_300, signal)).toBeUndefined();
  expect(warnings).toHaveLength(1);
  isBroken = false;
  expect((await one.changed(one.first, 5_000, signal))?.counts.traces).toBe(1);
  const left = new AbortController();
  const state = await one.changed(one.first, 10, left.signal);
  const waiting = one.changed(state as RunState, 60_000, left.signal);
  left.abort();
  expect(await waiting).toBeUndefined();
  isBroken = true;
  await expect(live.follow({ ...run, runId: newId() }, 'somebody')).rejects.toThrow('the store is gone');
});
