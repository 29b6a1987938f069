import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inProcessCoordination } from '../../shared/coordination/inProcess.ts';
import type { ExperimentRow, ExperimentRun } from '../../shared/experiments/experiment.ts';
import { RowMemory } from '../../shared/experiments/rowMemory.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import { httpRunner } from '../../workers/runners/httpEndpoint.ts';

const MiB = 1024 * 1024;

let server: Server;
let url: string;
let guard: OutboundGuard;
/** Bytes of the answers that the client took, by path. */
const sent = new Map<string, number>();
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    const [, bytes, form] = (request.url as string).split('/');
    void answer(response, request.url as string, Number(bytes), form === 'announced');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  guard = createOutboundGuard({ allow: [], allowLoopback: true });
});
afterAll(async () => {
  await guard.close();
  server.closeAllConnections();
  server.close();
});

/** A JSON answer with an output of so many characters, sent as fast as it is read. */
async function answer(response: ServerResponse, path: string, bytes: number, announced: boolean) {
  const piece = 'x'.repeat(Math.min(bytes, 64 * 1024));
  const [before, after] = ['{"output":"', '"}'];
  if (announced) response.setHeader('content-length', before.length + bytes + after.length);
  const closed = new Promise((resolve) => response.once('close', resolve));
  response.write(before);
  for (let at = 0; at < bytes && !response.destroyed; at += piece.length) {
    sent.set(path, at);
    if (!response.write(piece)) await Promise.race([new Promise((resolve) => response.once('drain', resolve)), closed]);
  }
  response.end(after);
}

const runOf = (rowTimeLimitMs = 60_000) =>
  ({
    experimentId: newId(),
    name: 'large',
    projectId: newId(),
    settings: { rowTimeLimitMs, maxCallAttempts: 1 },
  }) as ExperimentRun;
const row = {
  rowId: newId(),
  ordinal: 0,
  input: 'q',
  expected: null,
  metadata: {},
  generatedOutput: null,
  variables: {},
} as ExperimentRow;
const runRow = (path: string, memory: RowMemory, rowTimeLimitMs?: number) => {
  const share = memory.open();
  const signal = new AbortController().signal;
  const runner = httpRunner(runOf(rowTimeLimitMs), `${url}/${path}`, {}, guard, inProcessCoordination().calls);
  const result = runner.run(row, {
    attempt: 1,
    signal,
    stopping: signal,
    waiting: () => () => undefined,
    confirm: async () => undefined,
    memory: share,
  });
  return { share, result };
};

test.each(['streamed', 'announced'])('an answer that is too large (%s) is read to the bound and no further', async (form) => {
  const { result } = runRow(`${200 * MiB}/${form}`, new RowMemory(64 * MiB));
  expect(await result).toMatchObject({ output: null, error: "the runner's URL sent too large an answer" });
  // The bytes in the sockets of both sides come on top.
  expect(sent.get(`/${200 * MiB}/${form}`)).toBeLessThan(30 * MiB);
});

test('rows wait until others have given back what they hold, and their time does not run', async () => {
  const bytes = 320 * 1024;
  const memory = new RowMemory(700 * 1024);
  const first = runRow(`${bytes}/announced`, memory);
  const second = runRow(`${bytes}/announced`, memory);
  expect((await Promise.all([first.result, second.result])).map(({ output }) => output?.length)).toEqual([bytes, bytes]);
  // A third waits for longer than it may work; one with a small answer does not.
  const third = runRow(`${bytes}/announced`, memory, 2_000);
  expect(await runRow('1000/streamed', memory).result).toMatchObject({ output: 'x'.repeat(1000) });
  await new Promise((resolve) => setTimeout(resolve, 2_500)); // longer than its limit is what is tested
  first.share.release();
  const { output, error } = await third.result;
  expect([output?.length, error]).toEqual([bytes, undefined]);
  second.share.release();
  third.share.release();
  expect(memory.bytes).toBe(0);
});

test('a row that is given up while it waits holds nothing', async () => {
  const memory = new RowMemory(100);
  const [first, second, third] = [memory.open(), memory.open(), memory.open()];
  const givenUp = new AbortController();
  await first.take(80, givenUp.signal);
  const waiting = second.take(80, givenUp.signal);
  const behind = third.take(20, new AbortController().signal);
  givenUp.abort(new Error('given up'));
  await expect(waiting).rejects.toThrow('given up');
  await behind;
  expect(memory.bytes).toBe(100);
  first.release();
  await expect(first.take(1, new AbortController().signal)).rejects.toThrow('the row has ended');
  third.keep(5);
  expect(memory.bytes).toBe(5);
});
