// A service of its own: it is blocked until it ends itself.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServiceFolder, serviceFolder } from '../support/serviceProcess.ts';

const PROCESS = fileURLToPath(new URL('../support/blockableProcess.ts', import.meta.url));

let folder: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-blocked-'));
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** A process with the embedded engine in it, ready, that says and ends what it does. */
async function start({ warnMs, endMs, flags = [] }: { warnMs: number; endMs: number; flags?: string[] }) {
  const at = await mkdtemp(join(folder, 'process-'));
  const child = spawn(process.execPath, [...flags, PROCESS, join(at, 'clickhouse'), String(warnMs), String(endMs)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  children.push(child);
  let output = '';
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  await once(child.stdout, 'data');
  return {
    child,
    ended,
    output: () => output,
    lines: () => output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : [])),
    tell: (what: string) => child.stdin.write(`${what}\n`),
  };
}

test('a process without memory dies at once, although the engine it embeds handles the signal of that', async () => {
  const { ended, output, tell } = await start({ warnMs: 60_000, endMs: 0, flags: ['--max-old-space-size=60'] });
  tell('exhaustHeap');
  expect(await ended).toEqual([null, 'SIGABRT']);
  expect(output()).toContain('heap out of memory');
});

test('an event loop that stays blocked is named in the log, then the process ends', async () => {
  const { ended, lines, tell } = await start({ warnMs: 200, endMs: 1_000 });
  tell('block');
  expect(await ended).toEqual([null, 'SIGKILL']);
  // A busy machine may have held it up before.
  expect(lines().slice(-2)).toMatchObject([
    {
      level: 50,
      msg: 'the event loop is blocked: nothing is answered; after 1 s the process ends',
      memoryMb: expect.any(Number),
    },
    { level: 60, msg: 'the event loop is blocked: the process ends', blockedSeconds: 1, cpuSeconds: expect.any(Number) },
  ]);
});

test('one that turns again goes on, and one that was suspended was never blocked', async () => {
  const { child, ended, lines, tell } = await start({ warnMs: 200, endMs: 20_000 });
  const said = () => lines().map(({ msg }) => msg);
  const end = join(folder, 'end-of-block');
  tell(`blockUntil ${end}`);
  await expect.poll(said).toContain('the event loop is blocked: nothing is answered; after 20 s the process ends');
  await writeFile(end, '');
  await expect.poll(said).toContain('the event loop turns again');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);

  const suspended = await start({ warnMs: 2_000, endMs: 2_500 });
  suspended.child.kill('SIGSTOP');
  await delay(3_000); // that it was away for longer than it may be blocked is what is tested
  suspended.child.kill('SIGCONT');
  suspended.child.kill('SIGTERM');
  expect(await suspended.ended).toEqual([0, null]);
  expect(suspended.lines()).toEqual([]);
});

test('the service is watched, and dies of its own faults, so that it can be started again', async () => {
  const service: ServiceFolder = await serviceFolder(join(folder, 'service'), {
    NODE_OPTIONS: '--inspect=127.0.0.1:0',
    BLOCKED_WARN_SECONDS: '1',
    BLOCKED_END_SECONDS: '20', // a start on a slow machine, busy with others, holds the loop for seconds
  });
  const blocked = await service.start();
  children.push(blocked.child);
  const blockedEnd = once(blocked.child, 'exit');
  await evaluate(blocked.output(), 'for (;;);');
  expect(await blockedEnd).toEqual([null, 'SIGKILL']);
  expect(blocked.output()).toContain('the event loop is blocked: the process ends');

  const starved = await service.start();
  children.push(starved.child);
  const starvedEnd = once(starved.child, 'exit');
  await evaluate(starved.output(), 'process.abort()'); // as Node.js does when the heap is exhausted
  expect(await starvedEnd).toEqual([null, 'SIGABRT']);
});

/** Evaluates in a process that was started with `--inspect`. What is evaluated need not come back. */
async function evaluate(output: string, expression: string): Promise<void> {
  // It says its address again where it has started itself anew with its settings.
  const socket = new WebSocket(output.match(/ws:\S+/g)?.at(-1) as string);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  socket.onerror = () => undefined;
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } }));
}
