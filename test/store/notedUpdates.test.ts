import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, expect, test as plainTest, vi } from 'vitest';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { NotedUpdates } from '../../shared/records/notedUpdates.ts';
import { VersionClock } from '../../shared/records/versionClock.ts';
import { openUpdateJournal } from '../../shared/stores/files/updateJournal.ts';
import { propertyRuns } from '../support/propertyRuns.ts';
import { startRecordService } from '../support/recordService.ts';

// They write hundreds of times, and a slow disk takes ten times as long for it as a fast one.
vi.setConfig({ testTimeout: 300_000 });

type Service = Awaited<ReturnType<typeof startRecordService>>;
const services: Service[] = [];
beforeAll(async () => {
  services.push(await startRecordService());
});
afterAll(() => Promise.all(services.map((service) => service[Symbol.asyncDispose]())));

const word = fc.constantFrom('a', 'b', 'c');
const record = fc.nat({ max: 2 });
const fields = fc.record(
  {
    ...{ input: word, output: word, tags: fc.array(word, { maxLength: 2 }), status_code: fc.constantFrom(200, 500) },
    ...{ duration_ns: fc.nat(), metrics: fc.dictionary(fc.constantFrom('score', 'depth'), fc.nat({ max: 9 })) },
  },
  { requiredKeys: [] },
);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('update' as const), record, of: fc.constantFrom('trace', 'span'), fields }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('log' as const), record, output: word }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('search' as const), of: fc.constantFrom('traces', 'spans'), output: word }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), record }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), output: word }) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Returns what a client is answered; without `areNoted` each update is in its record before the next step. */
async function answers(service: Service, areNoted: boolean, steps: readonly Step[]) {
  const { post, patch, get, search } = service.space();
  const ids = Array.from({ length: 3 }, () => ({ trace: newId(), span: newId() }));
  const nameOf = new Map(ids.flatMap(({ trace, span }, n) => [[trace, `trace ${n}`] as const, [span, `span ${n}`] as const]));
  const log = (n: number, output: string) => {
    const { trace, span } = ids[n] as (typeof ids)[number];
    const created_at = `2026-01-0${n + 1}T00:00:00Z`;
    const spans = [{ type: 'tool', id: span, created_at, output }];
    return post('/traces', { traces: [{ id: trace, created_at, input: 'q', output, spans }] });
  };
  const shown = ({ id, input, output, tags, status_code, metrics }: Record<string, unknown>) => [
    nameOf.get(String(id)),
    { input, output, tags, status_code, metrics },
  ];
  const equal = (value: string) => [{ type: 'text', column_id: 'output', operator: 'eq', value }];
  const seen: unknown[] = [];
  for (const n of ids.keys()) await log(n, 'a');
  // This search fills the cache of the run, which each later write must keep up to date.
  seen.push((await search('traces')).map(shown));
  for (const one of steps) {
    if (one.do === 'log') seen.push((await log(one.record, one.output)).status);
    else if (one.do === 'search') seen.push((await search(one.of as 'traces', equal(one.output))).map(shown));
    else if (one.do === 'delete') seen.push((await post('/traces/delete', { filters: equal(one.output) })).body.message);
    else if (one.do === 'read') {
      const { status, body } = await get(`/traces/${ids[one.record]?.trace}`);
      seen.push([status, status === 200 && [shown(body), body.spans.map(shown)]]);
    } else {
      const id = ids[one.record]?.[one.of as 'trace' | 'span'];
      const { status, body } = await patch(`/${one.of}s/${id}`, { [`${one.of}_id`]: id, ...one.fields });
      seen.push([status, body.records_count]);
      if (!areNoted) await service.writer.unsettled.settle(() => true);
    }
  }
  return seen;
}

test.prop([fc.array(step, { minLength: 3, maxLength: 14 })], { numRuns: propertyRuns(16) })(
  'whatever is asked after an update, it is answered as if the update had been written first',
  async (steps) => {
    const [service] = services as [Service];
    expect(await answers(service, true, steps)).toEqual(await answers(service, false, steps));
  },
);

const run: RunRef = { projectId: newId(), runId: newId(), kind: 'log_stream' };
const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('update' as const), id: fc.nat({ max: 2 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('write' as const), id: fc.nat({ max: 2 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('refuse' as const), from: fc.nat({ max: 4 }), count: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('die' as const), after: fc.nat({ max: 4 }) }) },
);

test.prop([fc.array(action, { minLength: 2, maxLength: 30 })], { numRuns: propertyRuns(250) })(
  'whenever a process dies and whatever the store refuses, each record ends with the update that was answered last',
  async (actions) => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-noted-'));
    const stored = new Map<string, number>();
    const answered = new Map<string, number>();
    let value = 0;
    /** Writes that the store takes before it refuses some, how many it refuses, and those that the process makes before it dies. */
    let [takes, refuses, dies] = [0, 0, Number.POSITIVE_INFINITY];
    const begin = () => {
      let isDead = false;
      const write = async (id: string, output: number) => {
        await undefined;
        if (isDead || dies-- <= 0) {
          isDead = true;
          await new Promise(() => {});
        }
        if (takes-- <= 0 && refuses-- > 0) throw new ServiceError('Unavailable', 'the store is away');
        stored.set(id, output);
      };
      const journal = openUpdateJournal(folder);
      const noted = new NotedUpdates({
        journal,
        clock: new VersionClock(() => new Date()),
        write: (_run, { id, update }) => write(id, update.output as number),
        find: async () => [],
        isTaken: () => false,
        onLost(err) {
          throw err;
        },
      });
      return { noted, journal, write };
    };
    let process = begin();
    const dieAndBegin = () => {
      process.journal.close();
      [takes, refuses, dies] = [0, 0, Number.POSITIVE_INFINITY];
      process = begin();
    };
    /** False where the process died amid it. */
    const lives = (work: Promise<unknown>) =>
      Promise.race([work.then(() => true), new Promise<false>((resolve) => setTimeout(resolve, 5, false))]);
    try {
      for (const one of actions) {
        if (one.do === 'refuse') [takes, refuses] = [one.from, one.count];
        else if (one.do === 'die') dies = one.after;
        else if (one.do === 'settle') {
          const settling = process.noted.settle(() => true);
          if (!(await lives(settling.catch(() => {})))) dieAndBegin();
        } else {
          const id = `record ${one.id}`;
          const change = { action: 'update' as const, id, of: 'trace' as const, update: { output: ++value } };
          if (one.do === 'update' && (await process.noted.add(run, change))) answered.set(id, value);
          else {
            const writing = (async () => {
              await process.noted.settledBefore(run, [change]);
              await process.write(id, change.update.output);
              process.noted.stored({
                id,
                project_id: run.projectId,
                run_id: run.runId,
                type: 'trace',
                session_id: id,
                trace_id: id,
              });
              answered.set(id, change.update.output);
            })();
            if (!(await lives(writing.catch(() => {})))) dieAndBegin();
          }
        }
      }
      dieAndBegin();
      await process.noted.settle(() => true);
      for (const [id, output] of answered) expect(stored.get(id), id).toBeGreaterThanOrEqual(output);
      expect(openUpdateJournal(folder).left).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

/** Updates as of a process that has just started, over a store that has the traces `stored`. */
function startedNoting(stored: readonly string[]) {
  const looks: (readonly string[])[] = [];
  const looking = { ends: Promise.resolve() };
  const noted = new NotedUpdates({
    journal: { left: [], append() {}, cut: () => () => {} },
    clock: new VersionClock(() => new Date()),
    write: async () => {},
    async find({ projectId, runId }, ids) {
      looks.push(ids);
      await looking.ends;
      const of = { project_id: projectId, run_id: runId, type: 'trace' as const };
      return stored.filter((id) => ids.includes(id)).map((id) => ({ ...of, id, session_id: id, trace_id: id }));
    },
    isTaken: () => false,
    onLost(err) {
      throw err;
    },
  });
  const add = (id: string) => noted.add(run, { action: 'update', id, of: 'trace', update: { output: 'x' } });
  return { noted, add, looks, looking };
}

plainTest('the first updates after a start are noted as well, of records that are found together and once', async () => {
  const ids = Array.from({ length: 20 }, newId);
  const { add, looks } = startedNoting(ids.slice(1));
  const answers = await Promise.all(ids.map(add));
  expect(answers.map((answer) => answer?.id)).toEqual([undefined, ...ids.slice(1)]);
  expect(looks).toEqual([ids]);
  await add(ids[1] as string);
  expect(looks).toHaveLength(1);
});

plainTest('a record that may have been deleted while it was looked for is not known from then on', async () => {
  const id = newId();
  const { noted, add, looks, looking } = startedNoting([id]);
  const { promise, resolve } = Promise.withResolvers<void>();
  looking.ends = promise;
  const adding = add(id);
  await expect.poll(() => looks.length).toBe(1);
  noted.forget(run.projectId, run.runId);
  resolve();
  expect(await adding).toBeUndefined();
  expect(await add(id)).toMatchObject({ id });
  expect(looks).toHaveLength(2);
});
