import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { ConnectionError, HttpStatusError, NotFoundError } from '../../client/errors.ts';
import { type Call, ServiceClient } from '../../client/http.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { FoldedRecord, type FoundRecord, type WrittenFields } from '../support/foldedRecords.ts';
import { randomOf } from '../support/randomKills.ts';
import { serviceFolder } from '../support/serviceProcess.ts';

/** Records to log, and times that the service is killed meanwhile. */
const RECORDS = Number(process.env.FOLD_RECORDS ?? 5_000);
const KILLS = Number(process.env.FOLD_KILLS ?? 3);
const SEED = Number(process.env.FOLD_SEED ?? 1);
const WRITERS = 8;
const SPANS = 3;
/** Traces in one request. Updates of a fifth of the records, and a deletion, follow it. */
const TRACES = 25;
const UPDATES = (TRACES * (1 + SPANS)) / 5;
const DELETED_TRACES = 1;
/** Updates that a writer sends at a time, of as many records. */
const AT_ONCE = 5;

test('every record is what its acknowledged writes make of it, after kills amid logging, updates and deletions by eight writers', {
  timeout: 600_000 + RECORDS * 20,
}, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'assay-fold-'));
  const where = await serviceFolder(dataDir);
  let service = await where.start();
  onTestFinished(async () => {
    await service.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  });
  const random = randomOf(SEED);
  const client = new ServiceClient({ apiUrl: service.url, apiKey: service.apiKey, retries: 0 });
  const { id: projectId } = await client.send<{ id: string }>('/projects', { body: { name: 'fold' } });
  const { id: streamId } = await client.send<{ id: string }>(`/projects/${projectId}/log_streams`, { body: { name: 'stream' } });
  let isUp: Promise<unknown> = Promise.resolve();

  /** @returns false where there was no answer, or one that says to try again: it may have been carried out */
  const write = async (path: string, call: Call): Promise<boolean> => {
    await isUp;
    try {
      await client.send(`/projects/${projectId}${path}`, call);
      return true;
    } catch (err) {
      if (!(err instanceof ConnectionError || (err instanceof HttpStatusError && err.status === 503))) throw err;
      await delay(20); // the kill says that it is not up
      return false;
    }
  };
  const untilWritten = async (path: string, call: Call): Promise<void> => {
    while (!(await write(path, call)));
  };

  const folds = new Map<string, FoldedRecord>();
  const ids: string[] = [];
  /** Records with a write under way: their next one waits, so that each record has an order. */
  const busy = new Set<string>();
  const done = { updates: 0, deletions: 0, unanswered: 0 };
  /** Deletions that had no answer and were not repeated. The service may carry one out whenever it has started again. */
  const givenUp: { call: Call; members: string[] }[] = [];

  async function logTraces(): Promise<void> {
    const traces = Array.from({ length: TRACES }, () => ({
      id: newId(),
      name: 'trace',
      input: 'question',
      output: 'logged',
      spans: Array.from({ length: SPANS }, () => ({ type: 'tool', id: newId(), name: 'tool', input: 'x', output: 'logged' })),
    }));
    const call = { body: { log_stream_id: streamId, traces } };
    let isAcknowledged = await write('/traces', call);
    // As a client does that repeats what had no answer, or as one that gives up.
    if (!isAcknowledged && random() < 0.5) {
      await untilWritten('/traces', call);
      isAcknowledged = true;
    }
    if (!isAcknowledged) done.unanswered++;
    for (const { id, spans } of traces) {
      folds.set(id, new FoldedRecord('trace', id, 'logged', isAcknowledged));
      for (const span of spans) folds.set(span.id, new FoldedRecord('span', id, 'logged', isAcknowledged));
      ids.push(id, ...spans.map((span) => span.id));
    }
  }

  /** Some record, of any writer, that has no write under way. */
  function takeOne(): [string, FoldedRecord] | undefined {
    for (let tries = 0; tries < 100; tries++) {
      const id = ids[Math.floor(random() * ids.length)] as string;
      const fold = folds.get(id) as FoldedRecord;
      if (busy.has(id) || busy.has(fold.traceId)) continue;
      busy.add(id);
      return [id, fold];
    }
    return undefined;
  }

  async function updateOne(): Promise<void> {
    const [id, fold] = takeOne() ?? [];
    if (id === undefined || fold === undefined) return;
    try {
      if (fold.presence === 'unknown') return; // whether it is held, refused or carried out is unknown as well
      const number = ++done.updates;
      const fields: WrittenFields = { output: `update ${number}` };
      if (number % 2 === 0) fields.tag = `tag ${number % 10}`;
      if (number % 3 === 0) fields.score = number;
      const { output, tag, score } = fields;
      const body = {
        log_stream_id: streamId,
        [`${fold.kind}_id`]: id,
        output,
        ...(tag !== undefined && { tags: [tag] }),
        ...(score !== undefined && { metrics: { score } }),
      };
      const sent = write(`/${fold.kind}s/${id}`, { method: 'PATCH', body });
      if (fold.presence === 'gone') {
        const refusal = await sent.catch((err: unknown) => err);
        if (refusal !== false && !(refusal instanceof NotFoundError)) throw new Error(`${id} was deleted and took an update`);
        return;
      }
      const isAcknowledged = await sent;
      if (!isAcknowledged) done.unanswered++;
      fold.update(fields, isAcknowledged);
    } finally {
      busy.delete(id);
    }
  }

  async function deleteOne(): Promise<void> {
    const [id, { traceId }] = takeOne() ?? [undefined, {} as FoldedRecord];
    if (id === undefined) return;
    busy.delete(id);
    const members = ids.slice(ids.indexOf(traceId), ids.indexOf(traceId) + 1 + SPANS);
    if (members.some((member) => busy.has(member) || folds.get(member)?.presence !== 'there')) return;
    for (const member of members) busy.add(member);
    done.deletions++;
    const filters = [{ type: 'id', column_id: 'id', operator: 'eq', value: traceId }];
    const call = { body: { log_stream_id: streamId, filters } };
    let isAcknowledged = await write('/traces/delete', call);
    if (!isAcknowledged && random() < 0.5) {
      await untilWritten('/traces/delete', call);
      isAcknowledged = true;
    }
    if (!isAcknowledged) {
      done.unanswered++;
      givenUp.push({ call, members });
    }
    for (const member of members) {
      folds.get(member)?.delete(isAcknowledged);
      busy.delete(member);
    }
  }

  const begun = performance.now();
  let isOver = false;
  const writer = async () => {
    while (ids.length < RECORDS) {
      await logTraces();
      for (let sent = 0; sent < UPDATES; sent += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, updateOne));
      for (let sent = 0; sent < DELETED_TRACES; sent++) await deleteOne();
    }
  };
  const writers = Promise.all(Array.from({ length: WRITERS }, writer)).finally(() => {
    isOver = true;
  });
  const killer = async () => {
    for (let kill = 1; kill <= KILLS && !isOver; kill++) {
      while (!isOver && ids.length < ((kill - 0.5) / KILLS) * RECORDS) await delay(20);
      await delay(random() * 1_000);
      isUp = service.kill('SIGKILL').then(async () => {
        service = await where.start();
      });
      await isUp;
      console.log(`killed and started again after ${ids.length} records and ${done.updates} updates`);
    }
  };
  await Promise.all([writers, killer()]);
  const writeSeconds = (performance.now() - begun) / 1_000;
  await service.kill('SIGKILL'); // with what was answered last
  service = await where.start();
  // Else one of them could be carried out between a list and its count.
  for (const { call, members } of givenUp) {
    await untilWritten('/traces/delete', call);
    for (const member of members) folds.get(member)?.delete(true);
  }

  const found = new Map<string, FoundRecord>();
  for (const what of ['traces', 'spans']) {
    const path = `/projects/${projectId}/${what}`;
    let listed = 0;
    for (let token: number | null = 0; token !== null; ) {
      const page: { records: FoundRecord[]; next_starting_token: number | null } = await client.send(`${path}/search`, {
        body: { log_stream_id: streamId, starting_token: token, limit: 1_000, include_counts: true },
      });
      for (const record of page.records) found.set(record.id, record);
      listed += page.records.length;
      token = page.next_starting_token;
    }
    const count = async (filters: object[]) =>
      (await client.send<{ total_count: number }>(`${path}/count`, { body: { log_stream_id: streamId, filters } })).total_count;
    const kind = what.slice(0, -1);
    const all = [...found.values()].filter(({ id }) => folds.get(id)?.kind === kind);
    const updated = all.filter(({ output }) => String(output).startsWith('update'));
    expect({ listed, total: await count([]) }).toEqual({ listed: all.length, total: all.length });
    const isUpdated = { type: 'text', column_id: 'output', operator: 'contains', value: 'update' };
    expect(await count([isUpdated])).toBe(updated.length);
  }
  const faults = [...folds].flatMap(([id, fold]) => {
    const fault = fold.fault(found.get(id));
    return fault ? [`${fold.kind} ${id} ${fault}`] : [];
  });
  const strangers = [...found.keys()].filter((id) => !folds.has(id));
  console.log(
    `${ids.length} records, ${done.updates} updates and ${done.deletions} deletions in ${writeSeconds.toFixed(0)} s with ${KILLS} kills; ` +
      `${done.unanswered} writes without an answer; ${found.size} records at the end`,
  );
  expect({ faults: faults.slice(0, 20), strangers }).toEqual({ faults: [], strangers: [] });
  expect(done.updates).toBeGreaterThan(RECORDS / 6);
  expect(done.deletions).toBeGreaterThan(RECORDS / 500);
});
