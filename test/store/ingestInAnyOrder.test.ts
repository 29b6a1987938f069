import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { propertyRuns } from '../support/propertyRuns.ts';
import { startRecordService } from '../support/recordService.ts';

// They write hundreds of times, and a slow disk takes ten times as long for it as a fast one.
vi.setConfig({ testTimeout: 300_000 });

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  // Groups of one or two records: many follow one another, each made ready while the one before it is sent.
  service = await startRecordService({ groupBytes: 1_000 });
});
afterAll(() => service[Symbol.asyncDispose]());

interface Piece {
  path: '/traces' | '/spans';
  body: object;
}

/** A trace as streaming clients send it: the trace on its own and every span on its own, below a parent that may come later. */
function piecesOf(shape: readonly number[]): { traceId: string; ids: string[]; pieces: Piece[] } {
  const traceId = newId();
  const ids = shape.map(newId);
  const spans = shape.map((above, index): Piece => {
    const parent_id = index === 0 || above % (index + 1) === 0 ? traceId : (ids[(above % (index + 1)) - 1] as string);
    const span = {
      type: 'workflow',
      id: ids[index],
      name: `span ${index}`,
      created_at: at(index),
      input: `${above}`,
      tags: [`t${index}`],
    };
    return { path: '/spans', body: { trace_id: traceId, parent_id, spans: [span] } };
  });
  const trace: Piece = {
    path: '/traces',
    body: { traces: [{ id: traceId, name: 'trace', created_at: at(0), input: 'q' }], is_complete: false },
  };
  return { traceId, ids, pieces: [trace, ...spans] };
}

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();

const volatile = new Set(['updated_at', 'run_id', 'project_id']);
const stable = (tree: unknown): unknown =>
  JSON.parse(JSON.stringify(tree, (key, value) => (volatile.has(key) ? undefined : value)));

const shape = fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 8 });
/** Returns which piece is sent at each step: every one at least once, in any order, some again. */
const order = (count: number) =>
  fc
    .tuple(
      fc.shuffledSubarray([...Array(count).keys()], { minLength: count, maxLength: count }),
      fc.array(fc.nat({ max: count - 1 }), { maxLength: 6 }),
    )
    .chain(([each, again]) => fc.shuffledSubarray([...each, ...again], { minLength: each.length + again.length }));

test.prop([shape.chain((one) => fc.tuple(fc.constant(one), order(one.length + 1))), fc.boolean()], { numRuns: propertyRuns(6) })(
  'spans and their trace in any order, with repeats, one by one or at once, give the same records',
  async ([parents, sequence], atOnce) => {
    const { traceId, ids, pieces } = piecesOf(parents);
    const [inOrder, shuffled] = [service.space(), service.space()];
    for (const piece of pieces) await inOrder.post(piece.path, piece.body);
    const send = (index: number) => shuffled.post((pieces[index] as Piece).path, (pieces[index] as Piece).body);
    if (atOnce) await Promise.all(sequence.map(send));
    else for (const index of sequence) await send(index);

    const [expected, found] = [await inOrder.get(`/traces/${traceId}`), await shuffled.get(`/traces/${traceId}`)];
    expect(found.status).toBe(200);
    expect(stable(found.body)).toEqual(stable(expected.body));
    expect(await shuffled.search('spans')).toHaveLength(ids.length);
    expect(await shuffled.search('traces')).toHaveLength(1);
  },
);

// A key `__proto__` is kept under another name, at any depth, which the stories cover.
const key = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((text) => text !== '__proto__' && text.isWellFormed());
const metric = fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes('"__proto__":'));
const text = fc.string({ unit: 'binary', maxLength: 40 });

test.prop(
  [
    text,
    text,
    fc.dictionary(key, text, { noNullPrototype: true, maxKeys: 4 }),
    fc.array(text, { maxLength: 4 }),
    fc.dictionary(key, metric, { noNullPrototype: true, maxKeys: 3 }),
  ],
  {
    numRuns: propertyRuns(20),
  },
)('what is logged is what is read', async (input, output, user_metadata, tags, metrics) => {
  const { post, get } = service.space();
  const id = newId();
  const answer = await post('/traces', {
    traces: [{ id, input, output, user_metadata, tags, metrics: { ...metrics, duration_ns: 3 } }],
  });
  expect(answer.status).toBe(200);
  const { body } = await get(`/traces/${id}`);
  const given = Object.fromEntries(Object.entries(JSON.parse(JSON.stringify(metrics))).filter(([, value]) => value !== null));
  expect(body).toMatchObject({ input, output, user_metadata, tags });
  expect(body.metrics).toEqual({ ...given, duration_ns: 3 });
});
