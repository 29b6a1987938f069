import { fc, test } from '@fast-check/vitest';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { Attributes, type AttributeValue } from '../../shared/otel/attributes.ts';
import { ingestOtelSpans } from '../../shared/otel/ingestOtelSpans.ts';
import { mapSpan } from '../../shared/otel/mapSpan.ts';
import { openOtlp } from '../../shared/otel/otlp.ts';
import { recordsOf, spanRecordId, traceRecordId } from '../../shared/otel/recordsOf.ts';
import { targetOfHeaders } from '../../shared/otel/target.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { SpanNode } from '../../shared/recordSchemas/loggedRecords.ts';
import type { RecordChange } from '../../shared/records/recordChange.ts';
import { StubTraces } from '../../shared/records/stubTraces.ts';
import { startRecordService } from '../support/recordService.ts';
import { waitingTracesInMemory } from '../support/waitingTracesInMemory.ts';

// They write hundreds of times, and a slow disk takes ten times as long for it as a fast one.
vi.setConfig({ testTimeout: 300_000 });

let service: Awaited<ReturnType<typeof startRecordService>>;
beforeAll(async () => {
  // Groups of one or two records: many follow one another, each made ready while the one before it is sent.
  service = await startRecordService({ groupBytes: 1_000 });
});
afterAll(() => service[Symbol.asyncDispose]());

const otlp = openOtlp();
const caller = { userId: newId(), email: 'tester@example.com', role: 'admin' } as const;
const nowhere = targetOfHeaders({});

interface JsonSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: object }[];
}

/** Sends spans as an exporter would: through the bytes of a request. */
function exportTo(run: { projectId: string; runId: string }, spans: readonly JsonSpan[], stubTraces?: StubTraces) {
  const bytes = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
  return ingestOtelSpans(
    { writer: service.writer, findTarget: async () => run, ...(stubTraces && { stubTraces }) },
    caller,
    nowhere,
    otlp.readRequest(bytes, 'json'),
  );
}

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const TRACE = '5b8efff798038103d269b633813fc60c';
const spanId = (index: number) => (index + 1).toString(16).padStart(16, '0');
const time = (index: number) => String(1_770_000_000_000_000_000n + BigInt(index) * 1_000_001_234n);

/** A trace whose first span is its root; every other one hangs below one before it. */
function traceOf(parents: readonly number[], session: string | undefined, namedBy: number): JsonSpan[] {
  return [0, ...parents].map((above, index) => ({
    traceId: TRACE,
    spanId: spanId(index),
    ...(index === 0 ? {} : { parentSpanId: spanId(above % index) }),
    name: `span ${index}`,
    startTimeUnixNano: time(index),
    endTimeUnixNano: time(index + 3),
    attributes: [
      text('input.value', `in ${index}`),
      text('app.step', String(index)),
      ...(session === undefined || index !== namedBy % (parents.length + 1) ? [] : [text('session.id', session)]),
    ],
  }));
}

/** The sequence of exports: each span at least once, in any order, some again, in batches of any size. */
const exportsOf = (count: number) =>
  fc
    .tuple(
      fc.shuffledSubarray([...Array(count).keys()], { minLength: count, maxLength: count }),
      fc.array(fc.nat({ max: count - 1 }), { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: count + 5, maxLength: count + 5 }),
    )
    .map(([each, again, sizes]) => {
      const sequence = [...each, ...again];
      return sizes.map((size) => sequence.splice(0, size)).filter((batch) => batch.length > 0);
    });

const run = () => ({ projectId: newId(), runId: newId() });
const volatile = new Set(['updated_at', 'run_id', 'project_id']);
/** Returns the tree with names in place of ids, since ids depend on the run. */
function stable(tree: unknown, at: { runId: string; projectId: string }, count: number, session: string | undefined): unknown {
  const names = new Map([[traceRecordId(at, TRACE), 'the trace']]);
  for (let index = 0; index < count; index++) names.set(spanRecordId(at, TRACE, spanId(index)), `span ${index}`);
  return JSON.parse(
    JSON.stringify(tree, (key, value) => {
      if (volatile.has(key)) return undefined;
      if (key === 'session_id' && session !== undefined) return value === names.get(value) ? value : 'the session';
      return typeof value === 'string' ? (names.get(value) ?? value) : value;
    }),
  );
}

const parents = fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 7 });
test.prop(
  [
    parents.chain((one) => fc.tuple(fc.constant(one), exportsOf(one.length + 1))),
    fc.option(fc.string({ minLength: 1, maxLength: 8 }), { nil: undefined }),
    fc.nat({ max: 20 }),
    fc.boolean(),
  ],
  { numRuns: 10 },
)(
  'spans of a trace in any order, batches and repeats, one by one or at once, give the same records',
  async (given, session, namedBy, atOnce) => {
    const [shape, batches] = given;
    const spans = traceOf(shape, session, namedBy);
    const [whole, scattered] = [run(), run()];
    for (let repeat = 0; repeat < 3; repeat++) await exportTo(whole, spans);
    const send = (batch: number[]) =>
      exportTo(
        scattered,
        batch.map((index) => spans[index] as JsonSpan),
      );
    if (atOnce) await Promise.all(batches.map(send));
    else for (const batch of batches) await send(batch);

    const treeOf = async (at: { projectId: string; runId: string }) => {
      const { status, body } = await service.http.request('GET', `/projects/${at.projectId}/traces/${traceRecordId(at, TRACE)}`);
      expect(status).toBe(200);
      return body;
    };
    const [expected, found] = [await treeOf(whole), await treeOf(scattered)];
    expect(stable(found, scattered, spans.length, session)).toEqual(stable(expected, whole, spans.length, session));
    expect(found).toMatchObject({ type: 'trace', name: 'span 0', input: 'in 0', is_complete: true, external_id: TRACE });
    const inOneSession = new Set([found.session_id, ...everySpan(found).map((one) => one.session_id)]);
    expect(inOneSession.size).toBe(1);
    expect([...inOneSession][0] === found.id).toBe(session === undefined);
    expect(everySpan(found)).toHaveLength(spans.length);
  },
);

interface Tree {
  session_id: string;
  spans?: Tree[];
}
const everySpan = (tree: Tree): Tree[] => (tree.spans ?? []).flatMap((span) => [span, ...everySpan(span)]);

const names = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'gen_ai.operation.name', 'openinference.span.kind'),
  fc.constantFrom(
    'gen_ai.input.messages',
    'gen_ai.output.messages',
    'gen_ai.system_instructions',
    'gen_ai.prompt.0.role',
    'gen_ai.prompt.0.content',
    'gen_ai.prompt.__proto__.role',
    'gen_ai.completion.0.tool_calls.0.name',
    'gen_ai.tool.definitions',
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.request.model',
    'gen_ai.request.temperature',
    'gen_ai.response.finish_reasons',
    'gen_ai.retrieval.documents',
    'gen_ai.completion',
    'traceloop.entity.output',
    'db.operation',
    'db.query.result.document',
    'llm.input_messages.0.message.content',
    'llm.input_messages.999999999.message.contents.3.message_content.text',
    'llm.output_messages.0.message.tool_calls.1.tool_call.function.name',
    'llm.invocation_parameters',
    'llm.token_count.prompt',
    'retrieval.documents.0.document.metadata',
    'input.value',
    'output.value',
    'metadata',
    'tag.tags',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const leaf = fc.oneof(
  fc.constantFrom('chat', 'execute_tool', 'retrieval', 'invoke_agent', 'LLM', 'TOOL', 'RETRIEVER', 'AGENT', 'CHAIN', '', 'user'),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.jsonValue({ maxDepth: 4, noUnicodeString: false }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '[{"role":"user","parts":[{"type":"text","content":"hi"},{"type":"tool_call","id":null,"name":"f"}]}]',
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"role":"\\ud800","content":["\\udfff"]}',
    '{"messages":[{"type":"tool","id":"a","content":"{\\"documents\\":[{\\"content\\":\\"Paris\\",\\"metadata\\":{\\"a\\":[1]}}]}"}]}',
    `${'['.repeat(2000)}${']'.repeat(2000)}`,
    'query',
  ),
  fc.double(),
  fc.maxSafeInteger(),
  fc.boolean(),
);
const value: fc.Arbitrary<AttributeValue> = fc.letrec<{ value: AttributeValue; leaf: AttributeValue }>((tie) => ({
  leaf: leaf.map((one) =>
    typeof one === 'string' ? one.toWellFormed() : typeof one === 'number' && !Number.isFinite(one) ? null : one,
  ),
  value: fc.oneof(
    { depthSize: 'small' },
    tie('leaf'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      names.map((name) => name.toWellFormed()).filter((name) => name !== '__proto__'),
      tie('value'),
      { maxKeys: 3 },
    ),
  ),
})).value;
const attributes = fc.array(fc.tuple(names, value), { maxLength: 8 });
const eventName = fc.constantFrom(
  'gen_ai.user.message',
  'gen_ai.choice',
  'exception',
  'gen_ai.content.prompt',
  'db.query.result',
  'other',
);

describe('any attributes at all', () => {
  test.prop([attributes, fc.array(fc.tuple(eventName, attributes), { maxLength: 3 })], { numRuns: 2_000 })(
    'give a span of the interface',
    (given, events) => {
      const of = (entries: [string, AttributeValue][]) => Attributes.of(entries.map(([name, one]) => [name.toWellFormed(), one]));
      const { span } = mapSpan({
        traceId: TRACE,
        spanId: spanId(0),
        parentId: undefined,
        parentIsRemote: false,
        name: 'any',
        side: undefined,
        traceState: '',
        startNs: 5n,
        endNs: 9n,
        failed: undefined,
        statusMessage: '',
        attributes: of(given),
        events: events.map(([name, inner]) => ({ name, atNs: 7n, attributes: of(inner) })),
        links: [],
        resource: of([]),
        scope: { name: '', version: '', attributes: of([]) },
      });
      const { error_message: _, ...logged } = span;
      const onTheWire = JSON.parse(JSON.stringify(logged));
      const read = SpanNode.safeParse(onTheWire);
      expect(read.error?.issues).toBeUndefined();
      expect(JSON.parse(JSON.stringify(read.data))).toEqual({ ...onTheWire, created_at: expect.any(String) });
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    },
  );
});

test.prop([fc.uint8Array({ maxLength: 200 })])('any bytes are a request or a refusal', (bytes) => {
  for (const encoding of ['protobuf', 'json'] as const) {
    try {
      expect(Array.isArray(otlp.readRequest(bytes, encoding))).toBe(true);
    } catch (err) {
      expect(err).toMatchObject({ code: 'BadRequest' });
    }
  }
});

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => new URL(`../../shared/otel/definitions/${target}`, import.meta.url).pathname;
const exportRequest = root
  .loadSync('opentelemetry/proto/collector/trace/v1/trace_service.proto')
  .lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest');

const anyValue = (one: AttributeValue): object => {
  if (typeof one === 'string') return { stringValue: one };
  if (typeof one === 'boolean') return { boolValue: one };
  if (typeof one === 'number') return Number.isSafeInteger(one) && one !== 0 ? { intValue: String(one) } : { doubleValue: one };
  if (Array.isArray(one)) return { arrayValue: { values: one.map(anyValue) } };
  return one === null ? {} : { kvlistValue: { values: keyValues(Object.entries(one)) } };
};
const keyValues = (entries: readonly [string, AttributeValue][]) =>
  entries.map(([key, one]) => ({ key: key.toWellFormed(), value: anyValue(one) }));

test.prop([attributes, attributes, fc.nat()])(
  'a message of the published definitions is read as it was written',
  (given, inner, at) => {
    const times = { startTimeUnixNano: '1770000000000000001', endTimeUnixNano: '1770000001500000002' };
    const span = {
      ...{
        traceId: Buffer.from(TRACE, 'hex'),
        spanId: Buffer.from(spanId(1), 'hex'),
        parentSpanId: Buffer.from(spanId(0), 'hex'),
      },
      ...{
        flags: 0x300,
        name: 'héllo',
        traceState: 'a=b',
        kind: 3,
        ...times,
        attributes: keyValues(given),
        status: { code: 2, message: 'broke' },
      },
      events: [{ name: 'exception', timeUnixNano: '5', attributes: keyValues(inner) }],
      links: [
        {
          ...{ traceId: Buffer.from(TRACE, 'hex'), spanId: Buffer.from(spanId(2), 'hex'), traceState: 'c=d' },
          attributes: keyValues(inner),
        },
      ],
    };
    const resource = { attributes: keyValues(inner) };
    const scope = { name: 'scope', version: '1', attributes: keyValues(inner) };
    const scopeSpans = [{ scope, spans: [span, { ...span, spanId: Buffer.alloc(8) }] }];
    const bytes = exportRequest.encode(exportRequest.fromObject({ resourceSpans: [{ resource, scopeSpans }] })).finish();
    const [read] = otlp.readRequest(bytes, 'protobuf');
    const entries = (pairs: readonly [string, AttributeValue][]) => [
      ...new Map(pairs.map(([key, one]) => [key.toWellFormed(), one])),
    ];
    expect(read?.rejected).toHaveLength(1);
    expect([...(read?.resource.entries() ?? [])]).toEqual(entries(inner));
    const [first] = read?.spans ?? [];
    expect(first).toMatchObject({
      ...{ traceId: TRACE, spanId: spanId(1), parentId: spanId(0), parentIsRemote: true, name: 'héllo' },
      ...{ side: 'client', traceState: 'a=b', scope: { name: 'scope', version: '1' } },
      ...{ startNs: 1770000000000000001n, endNs: 1770000001500000002n, failed: true, statusMessage: 'broke' },
      links: [{ traceId: TRACE, spanId: spanId(2), traceState: 'c=d' }],
    });
    for (const beside of [first?.scope, first?.links[0]]) expect(beside?.attributes.entries()).toEqual(entries(inner));
    expect([...(first?.attributes.entries() ?? [])]).toEqual(entries(given));
    expect(first?.events.map(({ name, atNs, attributes: all }) => [name, atNs, [...all.entries()]])).toEqual([
      ['exception', 5n, entries(inner)],
    ]);
    // All is in one field of the request, so that nothing of it can be read when its end is missing.
    expect(() => otlp.readRequest(bytes.subarray(0, 1 + (at % (bytes.length - 1))), 'protobuf')).toThrow(
      expect.objectContaining({ code: 'BadRequest' }),
    );
  },
);

const delimited = (field: number, bytes: Uint8Array) =>
  Buffer.concat([
    protobuf.Writer.create()
      .uint32((field << 3) | 2)
      .bytes(bytes)
      .finish(),
  ]);
const spanType = exportRequest.root.lookupType('opentelemetry.proto.trace.v1.Span');
const encodedSpan = (index: number, more: object = {}) =>
  Buffer.from(
    spanType
      .encode(
        spanType.fromObject({
          traceId: Buffer.from(TRACE, 'hex'),
          spanId: Buffer.from(spanId(index), 'hex'),
          name: 'span',
          ...more,
        }),
      )
      .finish(),
  );
const requestOfSpans = (spans: readonly Uint8Array[]) =>
  delimited(1, delimited(2, Buffer.concat(spans.map((one) => delimited(2, one)))));
const whole = encodedSpan(1, {
  ...{ startTimeUnixNano: 5, status: { code: 2, message: 'broke' }, links: [{ spanId: Buffer.from(spanId(2), 'hex') }] },
  ...{ attributes: keyValues([['a', ['b', { c: 1.5 }]]]), events: [{ name: 'e', attributes: keyValues([['d', 'é']]) }] },
});
const brokenBytes = fc.oneof(
  fc.uint8Array({ maxLength: 100 }),
  fc.nat({ max: whole.length - 1 }).map((length) => whole.subarray(0, length)),
  fc.tuple(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 })).map(([at, byte]) => {
    const bytes = Buffer.from(whole);
    bytes[at] = byte;
    return bytes;
  }),
);

test.prop([brokenBytes], { numRuns: 2_000 })('whatever the bytes of a span, its neighbours are kept', (bytes) => {
  const [read] = otlp.readRequest(requestOfSpans([encodedSpan(7), bytes, encodedSpan(8)]), 'protobuf');
  expect([read?.spans.at(0)?.spanId, read?.spans.at(-1)?.spanId]).toEqual([spanId(7), spanId(8)]);
  expect((read?.spans.length ?? 0) + (read?.rejected.length ?? 0)).toBe(3);
});

test('a text that is no UTF-8 is kept as far as it goes, wherever it stands', () => {
  const marked = { name: 'n_@', status: { message: 'm_@' }, events: [{ name: 'e_@' }] };
  const bytes = encodedSpan(1, {
    ...marked,
    attributes: keyValues([
      ['k_@', 'v_@'],
      ['tree', { 'in_@': ['deep_@'] }],
    ]),
  });
  for (let at = bytes.indexOf('_@'); at !== -1; at = bytes.indexOf('_@', at)) bytes[at + 1] = 0xff;
  const [read] = otlp.readRequest(requestOfSpans([bytes, encodedSpan(2)]), 'protobuf');
  expect(read?.rejected).toEqual([]);
  const [odd, plain] = read?.spans ?? [];
  expect(plain?.spanId).toBe(spanId(2));
  expect(odd).toMatchObject({ name: 'n_\uFFFD', statusMessage: 'm_\uFFFD', events: [{ name: 'e_\uFFFD' }] });
  expect(JSON.parse(JSON.stringify(odd?.attributes.entries()))).toEqual([
    ['k_\uFFFD', 'v_\uFFFD'],
    ['tree', { 'in_\uFFFD': ['deep_\uFFFD'] }],
  ]);
});

/** A span in which every text is a word that stands nowhere else. */
const wordySpan = () => ({
  ...{ traceId: TRACE, spanId: spanId(1), parentSpanId: spanId(0), flags: 256, name: 'w0w', traceState: 'a=b', kind: 3 },
  ...{ startTimeUnixNano: '1770000000000000000', endTimeUnixNano: '1770000001500000000', droppedEventsCount: 0 },
  status: { code: 2, message: 'w1w' },
  attributes: [
    { key: 'w2w', value: { stringValue: 'w3w' } },
    { key: 'w4w', value: { arrayValue: { values: [{ stringValue: 'w5w' }, { boolValue: true }, {}] } } },
    { key: 'w6w', value: { kvlistValue: { values: [{ key: 'w7w', value: { doubleValue: 0.5 } }] } } },
    { key: 'w8w', value: { intValue: '12' } },
    { key: 'w9w', value: { bytesValue: 'YWJj' } },
  ],
  events: [{ name: 'w10w', timeUnixNano: '5', attributes: [{ key: 'w11w', value: { stringValue: 'w12w' } }] }],
  links: [{ traceId: TRACE, spanId: spanId(2), attributes: [{ key: 'a', value: { intValue: 1 } }] }],
});
const words = (value: unknown): string[] => JSON.stringify(value).match(/w\d+w/g) ?? [];
type Path = (string | number)[];
const pathsIn = (value: unknown): Path[] => [
  [],
  ...Object.entries(typeof value === 'object' && value !== null ? value : {}).flatMap(([name, one]) =>
    pathsIn(one).map((below): Path => [name, ...below]),
  ),
];
const replaced = (value: unknown, [name, ...below]: Path, by: unknown): unknown => {
  if (name === undefined) return by;
  if (Array.isArray(value)) return value.map((one, index) => (String(index) === name ? replaced(one, below, by) : one));
  return { ...(value as object), [name]: replaced((value as Record<string, unknown>)[name], below, by) };
};
/** A span without one of these is none, or lies after the times that can be stored. */
const needed = new Set(['traceId', 'spanId', 'parentSpanId', 'startTimeUnixNano', 'endTimeUnixNano']);
const oddJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3, noUnicodeString: false }),
  fc.constantFrom('ERROR', 'SPAN_KIND_SERVER', 1.5, -1, 1e300, '1e18', 1e20, { toString: 1, valueOf: 'x' }),
  fc.constantFrom(
    { stringValue: 5 },
    { intValue: 'x' },
    { intValue: '99999999999999999999' },
    { arrayValue: 'x' },
    { kvlistValue: [null] },
    { values: [[{}]] },
    { boolValue: {} },
    { bytesValue: '*' },
    JSON.parse('{"__proto__":{"values":1},"constructor":null}'),
    JSON.parse(`${'['.repeat(3000)}${']'.repeat(3000)}`),
    JSON.parse(`${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`),
  ),
);

test.prop([fc.constantFrom(...pathsIn(wordySpan())), oddJson], { numRuns: 3_000 })(
  'any JSON in any place of a span costs that place, and no neighbour',
  (path, odd) => {
    const other = (index: number) => ({ traceId: TRACE, spanId: spanId(index), name: 'other' });
    const spans = [other(7), replaced(wordySpan(), path, odd), other(8)];
    const [read] = otlp.readRequest(Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })), 'json');
    expect([read?.spans.at(0)?.spanId, read?.spans.at(-1)?.spanId]).toEqual([spanId(7), spanId(8)]);
    expect((read?.spans.length ?? 0) + (read?.rejected.length ?? 0)).toBe(3);
    const isTooDeep = read?.rejected[0]?.includes('nests deeper');
    if (isTooDeep || path.length === 0 || needed.has(String(path[0]))) return;
    const { attributes: kept, name, statusMessage, events, links } = read?.spans[1] ?? (expect.fail('refused') as never);
    const record = [kept.entries(), name, statusMessage, events.map((one) => [one.name, one.attributes.entries()])];
    expect(words(record)).toEqual(expect.arrayContaining(words(replaced(wordySpan(), path, null))));
    if (path[0] !== 'links') expect(links).toMatchObject([{ traceId: TRACE, spanId: spanId(2) }]);
  },
);

test('a value in another form than that of the protocol is what it plainly means', () => {
  const meanings: [odd: unknown, AttributeValue][] = [
    ['x', 'x'],
    [5, 5],
    [1.5, 1.5],
    [true, true],
    [null, null],
    [
      ['x', { intValue: '1' }, null],
      ['x', 1, null],
    ],
    [{ a: { b: 'x' } }, { a: { b: 'x' } }],
    [{ stringValue: 5 }, '5'],
    [{ stringValue: null }, null],
    [{ stringValue: { a: 1 } }, '{"a":1}'],
    [{ intValue: 'many' }, 'many'],
    [{ intValue: 1.5 }, 1.5],
    [{ intValue: '99999999999999999999' }, '99999999999999999999'],
    [{ doubleValue: '1.5' }, 1.5],
    [{ doubleValue: 'NaN' }, 'NaN'],
    [{ boolValue: 'true' }, true],
    [{ boolValue: 'yes' }, 'yes'],
    [{ arrayValue: [1] }, [1]],
    [{ arrayValue: {} }, []],
    [{ kvlistValue: { a: 'x' } }, { a: 'x' }],
    [{ bytesValue: 'YWJj' }, 'YWJj'],
  ];
  const read = (span: object) => {
    const body = { resourceSpans: [{ scopeSpans: [{ spans: [{ traceId: TRACE, spanId: spanId(1), ...span }] }] }] };
    return otlp.readRequest(Buffer.from(JSON.stringify(body)), 'json')[0]?.spans[0];
  };
  const listed = read({ attributes: meanings.map(([value], index) => ({ key: String(index), value })) });
  expect(JSON.parse(JSON.stringify(listed?.attributes.entries().map(([, one]) => one)))).toEqual(meanings.map(([, one]) => one));
  const large = read({ attributes: { a: { intValue: '9223372036854775807' } } })?.attributes.entries();
  expect(JSON.stringify(large)).toBe('[["a",9223372036854775807]]');
  expect(read({ attributes: { a: 'x', b: { stringValue: 'y' } } })?.attributes.entries()).toEqual([
    ['a', 'x'],
    ['b', 'y'],
  ]);
  for (const status of ['ERROR', 'STATUS_CODE_ERROR', 2, '2', { code: 'error' }, { code: 'STATUS_CODE_ERROR' }])
    expect([status, read({ status })?.failed]).toEqual([status, true]);
  expect(read({ status: { code: 'BROKEN', message: 'why' } })).toMatchObject({ failed: undefined, statusMessage: 'why' });
  expect(read({ name: 5, startTimeUnixNano: 5.5, endTimeUnixNano: '1.77e18' })).toMatchObject({
    ...{ name: '5', startNs: 5n, endNs: 1_770_000_000_000_000_000n },
  });
});

test('a trace whose root does not come is opened after a time, and one whose root came is left alone', async () => {
  const failures: unknown[] = [];
  const opened: number[] = [];
  const stubTraces = new StubTraces({
    writer: {
      async write(at, changes) {
        opened.push(changes.length);
        return service.writer.write(at, changes);
      },
    },
    store: waitingTracesInMemory(),
    waitMs: 5_000, // all of it is sent meanwhile, on a busy machine as well
    onError: (err) => failures.push(err),
  });
  const spans = traceOf([0, 1], undefined, 0);
  const [alone, whole] = [run(), run()];
  const read = async (at: ReturnType<typeof run>) =>
    (await service.http.request('GET', `/projects/${at.projectId}/traces/${traceRecordId(at, TRACE)}`)).body;
  await exportTo(alone, spans.slice(2), stubTraces);
  await exportTo(alone, spans.slice(1, 2), stubTraces);
  await exportTo(whole, spans.slice(1), stubTraces);
  await exportTo(whole, spans.slice(0, 1), stubTraces);
  expect(await read(alone)).toMatchObject({ type: 'stub_trace' });
  await expect.poll(() => read(alone)).toMatchObject({ type: 'trace', name: 'span 1', input: 'in 1', is_complete: false });
  expect(await read(whole)).toMatchObject({ type: 'trace', name: 'span 0', input: 'in 0', is_complete: true });
  expect({ opened, failures }).toEqual({ opened: [1], failures: [] });
});

test('what a process was waiting with when it died is opened by another one', async () => {
  const store = waitingTracesInMemory();
  const onError = (err: unknown) => expect.unreachable(String(err));
  const dead = new StubTraces({
    writer: { write: () => Promise.reject(new Error('dead')) },
    store,
    waitMs: 0,
    onError: () => {},
  });
  const next = new StubTraces({ writer: service.writer, store, waitMs: 0, onError });
  const spans = traceOf([0, 1], undefined, 0);
  const at = run();
  const read = async () =>
    (await service.http.request('GET', `/projects/${at.projectId}/traces/${traceRecordId(at, TRACE)}`)).body;
  await exportTo(at, spans.slice(1), dead);
  expect(await read()).toMatchObject({ type: 'stub_trace' });
  await next.openDue();
  expect(await read()).toMatchObject({ type: 'trace', name: 'span 1', is_complete: false });
  expect(await store.due(10)).toEqual([]);
  await exportTo(at, spans.slice(0, 1), next);
  expect(await read()).toMatchObject({ name: 'span 0', is_complete: true });
});

test('what very many spans of a request share is bounded for all of them, with the names of the service first', async () => {
  const resource = [...Array(40).keys()].map((index) => text(`label.${index}`, 'x'.repeat(90)));
  resource.push(text('service.name', 'shop'));
  const characters = async (count: number): Promise<number[]> => {
    const spans = Array.from({ length: count }, (_, index) => ({
      ...(traceOf([], undefined, 0)[0] as JsonSpan),
      spanId: spanId(index),
      attributes: [],
    }));
    const at = run();
    const written: number[] = [];
    const bytes = Buffer.from(
      JSON.stringify({ resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ spans }] }] }),
    );
    for (const { spans: read } of otlp.readRequest(bytes, 'json'))
      for (const change of recordsOf(at, read))
        if (change.action !== 'update' && change.record.type !== 'trace') {
          expect(change.record.user_metadata).toMatchObject({ 'service.name': 'shop' });
          written.push(JSON.stringify(change.record.user_metadata).length);
        }
    return written;
  };
  expect(Math.max(...(await characters(100)))).toBeGreaterThan(3_500);
  const many = await characters(50_000);
  expect(many).toHaveLength(50_000);
  expect(many.reduce((sum, one) => sum + one, 0)).toBeLessThan(50_000_000);
});

test('very many spans of a request are written in pieces, of which each trace has its root', async () => {
  const spans = Array.from({ length: 20_000 }, (_, index) => ({
    ...(traceOf([], undefined, 0)[0] as JsonSpan),
    traceId: (1 + (index % 10)).toString(16).padStart(32, '0'),
    spanId: spanId(index),
    ...(index < 10 ? {} : { parentSpanId: spanId(index % 10) }),
  }));
  const bytes = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
  const at = run();
  const sizes: number[] = [];
  const written: RecordChange[] = [];
  const writer = {
    async writeParts(_run: RunRef, changes: readonly RecordChange[]) {
      sizes.push(changes.length);
      for (const change of changes) written.push(change);
      return { written: [], refused: [], held: [], left: [] };
    },
  };
  const read = otlp.readRequest(bytes, 'json');
  const whole = read.flatMap((resource) => recordsOf(at, resource.spans));
  await ingestOtelSpans({ writer, findTarget: async () => at }, caller, nowhere, otlp.readRequest(bytes, 'json'));
  expect(Math.max(...sizes)).toBeLessThan(10_000);
  const ids = (changes: readonly RecordChange[]) => changes.map((one) => ('record' in one ? one.record.id : '')).sort();
  expect(ids(written)).toEqual(ids(whole));
  expect(written.filter((one) => 'record' in one && one.record.type === 'trace' && one.record.trace_is_complete)).toHaveLength(
    10,
  );
});
