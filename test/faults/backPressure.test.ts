import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';

const MiB = 1024 ** 2;
const LIMIT = 16 * MiB;
const SPANS = 19;
/** Records of a request: a trace and its spans. */
const RECORDS = SPANS + 1;
const SENDERS = 80;
const REQUESTS = 600;

async function startStalled() {
  const folder = await mkdtemp(join(tmpdir(), 'assay-pressure-'));
  const script = new URL('../support/stalledProcess.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, folder, String(LIMIT)], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    await rm(folder, { recursive: true, force: true });
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    url: `http://127.0.0.1:${JSON.parse(line).port}`,
    say: (word: 'close' | 'open') => child.stdin.write(`${word}\n`),
    residentBytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024,
  };
}

interface Counters {
  accepted_records: number;
  stored_records: number;
  rejected_records: number;
  records_under_way: number;
  process: { refused_requests: number; bytes_under_way: number; bytes_limit: number; bytes_waiting: number };
}

test('while the store stands still a flood is refused with 429, memory stays flat, and what was accepted is stored or rejected', async () => {
  const { url, say, residentBytes } = await startStalled();
  const [projectId, runId] = [newId(), newId()];
  const at = `${url}/projects/${projectId}`;
  const counters = async () => (await (await fetch(`${at}/ingest_counters`)).json()) as Counters;
  const send = (path: string, body: object, method = 'POST', zip = false) => {
    const json = JSON.stringify({ log_stream_id: runId, ...body });
    const headers = { 'content-type': 'application/json', ...(zip ? { 'content-encoding': 'gzip' } : {}) };
    return fetch(`${at}${path}`, { method, headers, body: zip ? gzipSync(json) : json });
  };
  // 520 KB; zipped it is 4 KB, and still counts as what it is.
  const text = 'a text that repeats itself '.repeat(1_000);
  const traceOf = (id: string) => ({
    id,
    input: 'q',
    spans: Array.from({ length: SPANS }, () => ({ type: 'tool', input: text })),
  });

  for (let warm = 0; warm < 30; warm++) expect((await send('/traces', { traces: [traceOf(newId())] })).status).toBe(200);
  const unknown = newId();
  expect((await send(`/traces/${unknown}`, { trace_id: unknown, output: 'x' }, 'PATCH')).status).toBe(404);
  expect(await counters()).toMatchObject({
    accepted_records: 30 * RECORDS + 1,
    stored_records: 30 * RECORDS,
    rejected_records: 1,
    records_under_way: 0,
  });

  say('close');
  const before = residentBytes();
  let highest = before;
  const acknowledged: string[] = [];
  const refused: Response[] = [];
  let sent = 0;
  const sender = async () => {
    while (sent < REQUESTS) {
      const zip = sent++ % 2 === 0;
      const id = newId();
      const answer = await send('/traces', { traces: [traceOf(id)] }, 'POST', zip);
      await answer.arrayBuffer();
      if (answer.status === 200) acknowledged.push(id);
      else refused.push(answer);
      highest = Math.max(highest, residentBytes());
    }
  };
  const senders = Promise.all(Array.from({ length: SENDERS }, sender));
  // Those who were taken wait for their answer; the others have sent all the rest.
  await expect.poll(() => sent, { interval: 50 }).toBe(REQUESTS);
  await sleep(500);
  const stalled = await counters();
  expect(acknowledged).toEqual([]);
  expect(refused.length).toBeGreaterThan(REQUESTS / 2);
  for (const { status, headers } of refused) {
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  }
  const { accepted_records, stored_records, rejected_records, records_under_way } = stalled;
  expect(records_under_way).toBeGreaterThan(0);
  expect(accepted_records).toBe(stored_records + rejected_records + records_under_way);
  expect(stalled.process.bytes_under_way).toBeLessThanOrEqual(LIMIT);
  expect(stalled.process.bytes_waiting).toBeGreaterThan(0);
  expect(stalled.process.bytes_limit).toBe(LIMIT);

  say('open');
  await senders;
  const after = await counters();
  expect(after).toMatchObject({
    accepted_records: after.stored_records + after.rejected_records,
    stored_records: (30 + acknowledged.length) * RECORDS,
    records_under_way: 0,
    process: { bytes_under_way: 0, bytes_waiting: 0 },
  });
  expect(acknowledged.length + refused.length).toBe(REQUESTS);

  const search = async (what: string) =>
    (await (await send(`/${what}/search`, { limit: 1_000 })).json()) as { records: { id: string }[]; num_rows?: number };
  const stored = new Set((await search('traces')).records.map(({ id }) => id));
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  expect(stored.size).toBe(30 + acknowledged.length);

  console.log(
    `taken ${acknowledged.length}, refused ${refused.length} of ${REQUESTS}; memory ${Math.round(before / MiB)} MiB before, ${Math.round(highest / MiB)} MiB at most`,
  );
  // 600 requests of 520 KB are 300 MiB, whose values would be three times that.
  expect(highest - before).toBeLessThan(200 * MiB);
});

test('a sender that is refused and sends on for long, without looking at the answer, reads it all the same', async () => {
  const { url } = await startStalled();
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.pause();
  const errors: Error[] = [];
  socket.on('error', (err) => errors.push(err));
  const chunk = 'x'.repeat(64 * 1024);
  const chunks = 18;
  socket.write(
    `POST /projects/${newId()}/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Encoding: unheard-of\r\nContent-Length: ${LIMIT}\r\n\r\n`,
  );
  for (let sent = 0; sent < chunks; sent++) {
    socket.write(chunk);
    await sleep(500);
  }
  const [answer] = (await once(socket.resume(), 'data')) as [Buffer];
  expect(errors).toEqual([]);
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 415 /);
  // The service cuts off a client that stops sending.
  await once(socket, 'close');
});
