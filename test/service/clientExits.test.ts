import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Logger, ServiceClient } from '../../client/index.ts';
import { ownPort } from '../support/ownPort.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let projectId: string;
beforeAll(async () => {
  service = await sharedTestService();
  projectId = (await service.project()).id;
});
afterAll(() => service?.[Symbol.asyncDispose]());

/** A process that logs one trace into a log stream of this name, and ends in this way. */
function start(logStream: string, ending: string, url = service.url) {
  const script = join(import.meta.dirname, '../support/loggingProcess.ts');
  const child = spawn(process.execPath, [script, projectId, logStream, ending], {
    env: { ...process.env, SERVICE_API_URL: url, SERVICE_API_KEY: service.apiKey },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { out: '', err: '' };
  const isReady = Promise.withResolvers<void>();
  child.stdout.on('data', (chunk) => {
    said.out += chunk;
    if (said.out.includes('ready')) isReady.resolve();
  });
  child.stderr.on('data', (chunk) => (said.err += chunk));
  const ended = new Promise<{ code: number | null; signal: string | null; out: string; err: string }>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal, ...said })),
  );
  return { child, isReady: isReady.promise, ended };
}

async function tracesIn(logStream: string): Promise<number> {
  const streams = (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];
  const id = streams.find(({ name }) => name === logStream)?.id;
  if (!id) return 0;
  const { body } = await service.request('POST', `/v2/projects/${projectId}/traces/count`, { log_stream_id: id });
  return (body as { total_count: number }).total_count;
}

/** A server that takes connections and never answers. */
async function hungServer(): Promise<{ url: string; isAsked: Promise<void> }> {
  const asked = Promise.withResolvers<void>();
  const server = createServer(() => asked.resolve());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, isAsked: asked.promise };
}

describe('a process that ends', () => {
  test('by itself sends what it has', async () => {
    expect(await start('by itself', 'ends').ended).toEqual({ code: 0, signal: null, out: '', err: '' });
    expect(await tracesIn('by itself')).toBe(1);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('by %s sends what it has, and then ends by that signal', async (signal) => {
    const { child, isReady, ended } = start(signal, 'stays');
    await isReady;
    child.kill(signal);
    expect(await ended).toMatchObject({ code: null, signal, err: '' });
    expect(await tracesIn(signal)).toBe(1);
  });

  test('in its own way at a signal is left to do so, and what it has is sent meanwhile', async () => {
    const { child, isReady, ended } = start('own way', 'decides');
    await isReady;
    child.kill('SIGTERM');
    await expect.poll(() => tracesIn('own way')).toBe(1);
    child.stdin.write('end');
    expect(await ended).toMatchObject({ code: 7, signal: null, err: '' });
  });

  test('at once can only say what was not sent', async () => {
    const unsent = 'the process ends; traces not sent: 1';
    expect(await start('at once', 'exits').ended).toMatchObject({ code: 3, err: expect.stringContaining(unsent) });
    expect(await start('at once', 'throws').ended).toMatchObject({ code: 1, err: expect.stringContaining(unsent) });
    expect(await tracesIn('at once')).toBe(0);
  });

  test('while the service is away ends soon, and says what was not sent', async () => {
    const { ended } = start('away', 'ends', `http://127.0.0.1:${await ownPort()}`);
    const { code, err } = await ended;
    expect(code).toBe(0);
    expect(err).toContain('does not answer');
    expect(err).toContain('traces not sent: 1');
  });

  test('by a signal waits 5 s for a service that hangs, and not at all when it is told twice', async () => {
    const { url, isAsked } = await hungServer();
    const patient = start('hung', 'stays', url);
    const impatient = start('hung', 'stays', url);
    await Promise.all([patient.isReady, impatient.isReady, isAsked]);
    const started = performance.now();
    patient.child.kill('SIGTERM');
    impatient.child.kill('SIGINT');
    const again = setInterval(() => impatient.child.kill('SIGINT'), 50);
    expect(await impatient.ended).toMatchObject({ signal: 'SIGINT' });
    clearInterval(again);
    expect(performance.now() - started).toBeLessThan(4_900);
    expect(await patient.ended).toMatchObject({ signal: 'SIGTERM' });
    expect(performance.now() - started).toBeGreaterThan(4_900);
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  test('is listened to while something waits, and no longer', async () => {
    const { out } = await start('listeners', 'closes').ended;
    const { before, made, logged, closed } = JSON.parse(out) as Record<string, number[]>;
    expect(made).toEqual(before);
    expect(logged).toEqual(before?.map((count) => count + 1));
    expect(closed).toEqual(before);
  });
});

describe('while the service is away', () => {
  test('the memory is bounded, what was given up is counted and said once a minute, and the rest is sent when it is back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const warnings: string[] = [];
    let isAway = true;
    let attempts = 0;
    const client = new ServiceClient({
      apiUrl: service.url,
      apiKey: service.apiKey,
      logger: { warn: (text: string) => void warnings.push(text) },
      fetch: (url, init) => {
        attempts++;
        return isAway ? Promise.reject(new TypeError('fetch failed')) : fetch(url, init);
      },
    });
    const logger = new Logger({ client, projectId, logStream: 'bounded', maxWaitingCharacters: 1_000_000 });
    const input = 'x'.repeat(1_000);
    const logSome = (count: number) => {
      for (let index = 0; index < count; index++) logger.startTrace(input).conclude('done');
    };
    logSome(2_000);
    await vi.advanceTimersByTimeAsync(59_000);
    logSome(2_000);
    const first = logger.droppedTraces;
    expect(first).toBeGreaterThan(3_000);
    const given = (text: string) => text.includes('given up');
    expect(warnings.filter(given)).toHaveLength(1);
    expect(warnings.filter((text) => !given(text))).toHaveLength(1);
    // Ever longer pauses: 1, 2, 4, 8, 16, 30, 30 s after the first batch was full, which warns at once.
    expect(attempts).toBeLessThan(8);
    await vi.advanceTimersByTimeAsync(1_000);
    logSome(2_000);
    await vi.advanceTimersByTimeAsync(60_000);
    const said = warnings.filter(given).map((text) => Number.parseInt(text, 10));
    expect(said.length).toBeLessThanOrEqual(3);
    expect(said.reduce((sum, count) => sum + count, 0)).toBe(logger.droppedTraces);
    vi.useRealTimers();
    isAway = false;
    await logger.flush();
    expect(await tracesIn('bounded')).toBe(6_000 - logger.droppedTraces);
  });
});
