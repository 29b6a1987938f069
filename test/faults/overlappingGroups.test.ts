import { expect, test } from 'vitest';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { LoggedRecord, RecordChange } from '../../shared/records/recordChange.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import { recordsInMemory, type StoreHooks } from '../support/recordsInMemory.ts';

const GROUP_BYTES = 2_000;
/** Enough for a group to be made ready beside the one that is sent. */
const long = 'x'.repeat(GROUP_BYTES);
const run = { projectId: newId(), runId: newId() };

const log = (record: LoggedRecord): RecordChange => ({ action: 'log', record });
const trace = (id: string, more: Partial<LoggedRecord> = {}) => log({ id, type: 'trace', trace_id: id, ...more });
const span = (id: string, traceId: string, input: string) =>
  log({ id, type: 'tool', trace_id: traceId, parent_id: traceId, input });

/** Where the test holds up what the store does, from `close` to `open`. */
class Gate {
  #passing = Promise.withResolvers<void>();
  #reached = Promise.withResolvers<void>();
  constructor() {
    this.#passing.resolve();
  }
  /** When somebody stands before it. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }
  close(): void {
    this.#passing = Promise.withResolvers();
    this.#reached = Promise.withResolvers();
  }
  open(): void {
    this.#passing.resolve();
  }
  async pass(): Promise<void> {
    this.#reached.resolve();
    await this.#passing.promise;
  }
}

function writerWith(hooks: StoreHooks, guard?: ConstructorParameters<typeof RecordWriter>[0]['guard']) {
  const { store, records } = recordsInMemory(hooks);
  return { writer: new RecordWriter({ store, groupBytes: GROUP_BYTES, ...(guard && { guard }) }), records };
}

/** That something is not begun cannot be awaited. */
const openSoon = (gate: Gate) => setTimeout(() => gate.open(), 50);

test('a group is made ready while the one before it is sent, unless both are about the same record or trace', async () => {
  const gate = new Gate();
  const [first, other, below] = [newId(), newId(), newId()];
  const names = new Map([
    [first, 'first'],
    [other, 'other'],
    [below, 'below'],
  ]);
  const named = (ids: readonly string[]) => ids.flatMap((id) => names.get(id) ?? []).join();
  const steps: string[] = [];
  const { writer } = writerWith({
    onKeys: async (ids) => void steps.push(`looks for ${named(ids)}`),
    onSend: async (table, ids) => {
      if (table !== 'records') return;
      await gate.pass();
      steps.push(`stores ${named(ids)}`);
    },
  });
  gate.close();
  const writes = [writer.write(run, [trace(first)])];
  await gate.reached;
  writes.push(writer.write(run, [trace(other, { input: long })]));
  await expect.poll(() => steps).toEqual(['looks for first', 'looks for other']);
  writes.push(writer.write(run, [span(below, other, 'in the trace')]));
  writes.push(writer.write(run, [trace(other, { name: 'again' })]));
  openSoon(gate);
  await Promise.all(writes);
  expect(steps).toEqual([
    'looks for first',
    'looks for other',
    'stores first',
    'stores other',
    'looks for below,other',
    'stores below,other',
  ]);
});

test('a group that is stored request by request lets nobody settle a change on top of a record that is not stored yet', async () => {
  const gate = new Gate();
  const [guilty, first, second] = [newId(), newId(), newId()];
  const looks: string[] = [];
  const { writer, records } = writerWith({
    onKeys: async (ids) => {
      if (ids.length === 1 && ids[0] === second) looks.push(records.has(second) ? 'it is stored' : 'it is not');
    },
    onSend: async (table, ids) => {
      if (table !== 'records') return;
      if (ids.includes(guilty)) throw new Error('cannot parse');
      if (ids.length === 1 && ids[0] === first) await gate.pass();
    },
  });
  gate.close();
  const group = [first, guilty, second].map((id) => writer.write(run, [trace(id)]));
  await gate.reached;
  const later = writer.write(run, [trace(second, { input: long })]);
  openSoon(gate);
  expect((await Promise.allSettled(group)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  await later;
  // Once when the group's own request was stored alone, and again for the later one, when that had been stored.
  expect(looks).toEqual(['it is not', 'it is stored']);
});

for (const [reason, isFailing] of [
  ['its run was deleted', 'guard'],
  ['the store cannot be read', 'keys'],
] as const) {
  test(`a group that fails before it is sent, since ${reason}, lets nobody overtake the one before it`, async () => {
    const gate = new Gate();
    const [updated, lost] = [newId(), newId()];
    const other = { projectId: run.projectId, runId: newId() };
    const { writer, records } = writerWith(
      {
        onSend: () => gate.pass(),
        onKeys: async (ids) => {
          if (isFailing === 'keys' && ids.includes(lost)) throw new ServiceError('Unavailable', 'away');
        },
      },
      async (runs) => ({
        missing: isFailing === 'guard' ? runs.filter(({ runId }) => runId === other.runId) : [],
        withHeldUpdates: [],
      }),
    );
    await writer.write(run, [trace(updated)]);
    gate.close();
    const first = writer.write(run, [{ action: 'update', id: updated, of: 'trace', update: { output: 'of the first' } }]);
    await gate.reached;
    await expect(writer.write(other, [trace(lost, { input: long })])).rejects.toBeInstanceOf(ServiceError);
    const second = writer.write(run, [{ action: 'update', id: updated, of: 'trace', update: { tags: ['second'], input: long } }]);
    openSoon(gate);
    await Promise.all([first, second]);
    expect(records.get(updated)).toMatchObject({ output: 'of the first', tags: ['second'] });
  });
}

test('a span that leaves a trace stays out of it, whatever is said of that trace meanwhile', async () => {
  const gate = new Gate();
  const { writer, records } = writerWith({ onSend: () => gate.pass() });
  const [left, entered, moved, session] = [newId(), newId(), newId(), newId()];
  await writer.write(run, [trace(left), trace(entered), span(moved, left, 'old')]);
  gate.close();
  const first = writer.write(run, [span(moved, entered, 'new')]);
  await gate.reached;
  const second = writer.write(run, [trace(left, { session_id: session, input: long })]);
  openSoon(gate);
  await Promise.all([first, second]);
  expect(records.get(moved)).toMatchObject({ trace_id: entered, session_id: entered, input: 'new' });
});

test('what was made ready beside a group is settled again when that group changed more, request by request, than it had said', async () => {
  const [traceId, below, refused] = [newId(), newId(), newId()];
  const [one, another] = [newId(), newId()];
  const isLookedFor = Promise.withResolvers<void>();
  let armed = false;
  const { writer, records } = writerWith({
    onKeys: async (ids) => {
      if (armed && ids.length === 1 && ids[0] === below) isLookedFor.resolve();
    },
    onSend: async (table, ids) => {
      if (table === 'keys' || !ids.includes(refused)) return;
      await isLookedFor.promise;
      throw new Error('cannot parse');
    },
  });
  await writer.write(run, [trace(traceId, { session_id: another }), span(below, traceId, 'old')]);
  armed = true;
  // Together these leave the session of the span as it is; one after the other they change it twice.
  const group = [
    writer.write(run, [trace(traceId, { session_id: one })]),
    writer.write(run, [trace(traceId, { session_id: another })]),
    writer.write(run, [trace(refused)]),
  ];
  await new Promise((resolve) => setTimeout(resolve, 20)); // they have become a group
  const update = writer.write(run, [{ action: 'update', id: below, of: 'span', update: { input: long } }]);
  expect((await Promise.allSettled(group)).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  await update;
  expect(records.get(below)).toMatchObject({ input: long, session_id: another });
});

test('a request that was refused in its group is not refused and stored: it is answered by what became of it', async () => {
  const [taken, poison, beside] = [newId(), newId(), newId()];
  const { writer, records } = writerWith({
    onSend: async (table, ids) => {
      if (table === 'records' && ids.includes(poison)) throw new Error('cannot parse');
    },
  });
  const answers = await Promise.allSettled([
    writer.write(run, [trace(taken), trace(poison)]),
    writer.write(run, [span(taken, beside, 'a span')]),
  ]);
  // In the group the id was the first one's trace; alone that could not be stored, and the id was free.
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  expect([...records.values()].map(({ type }) => type)).toEqual(['tool']);
  expect(writer.counters.of(run.projectId)).toMatchObject({ stored: 1, rejected: 2 });
});
