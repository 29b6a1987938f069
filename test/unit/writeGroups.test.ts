import { expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { LoggedRecord, RecordChange } from '../../shared/records/recordChange.ts';
import { RecordWriter } from '../../shared/records/recordWriter.ts';
import { recordsInMemory, type StoreHooks } from '../support/recordsInMemory.ts';

const GROUP_BYTES = 2_000;
/** Enough for several groups to wait behind the one that is sent. */
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
