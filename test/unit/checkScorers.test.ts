import { describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ScoreContext, ScoredRecord } from '../../shared/metrics/metric.ts';
import { scoreRecord } from '../../shared/metrics/scoreRecord.ts';
import { checkAsMetric, mustBeComputable } from '../../shared/scorers/checks/checkAsMetric.ts';
import { Check } from '../../shared/wire/checks.ts';
import { scoredRecord as record } from '../support/scoredRecord.ts';

const context: ScoreContext = {
  signal: new AbortController().signal,
  complete: () => Promise.reject(new Error('no check asks a judge')),
};

const metricOf = (check: object) => checkAsMetric({ id: newId(), name: 'a check', definition: {} }, Check.parse(check));
const score = (check: object, given: Partial<ScoredRecord>) => scoreRecord(metricOf(check), record(given), context);

describe('checks of the output', () => {
  const ticket = { type: 'regex', pattern: '^Ticket [A-Z]{2}-\\d+$' };
  const colours = { texts: ['Red', 'blue'] };
  const person = {
    type: 'json_schema',
    schema: {
      type: 'object',
      properties: { name: { type: 'string', pattern: '^[A-Z]' }, age: { type: 'integer', minimum: 0 } },
      required: ['name'],
      additionalProperties: false,
    },
  };

  test.each([
    [ticket, 'Thanks.\nTicket AB-12\nBye.', true],
    [ticket, 'ticket ab-12', false],
    [{ ...ticket, ignore_case: true }, 'ticket ab-12', true],
    [{ type: 'contains_all', ...colours }, 'Red and blue', true],
    [{ type: 'contains_all', ...colours }, 'red and blue', false],
    [{ type: 'contains_all', ...colours, ignore_case: true }, 'RED and BLUE', true],
    [{ type: 'contains_any', ...colours }, 'only blue', true],
    [{ type: 'contains_any', ...colours }, 'only green', false],
    [person, '{"name": "Ada", "age": 36}', true],
    [person, '{"name": "ada"}', false],
    [person, '{"name": "Ada", "age": -1}', false],
    [person, '{"name": "Ada", "job": "x"}', false],
    [person, 'Ada', false],
  ])('%j of %j is %s', async (check, output, value) => {
    expect(await score(check, { output })).toMatchObject({ value });
    expect(await score(check, {})).toEqual({ notApplicable: 'the record has no output' });
  });

  test('what is not true says why', async () => {
    expect(await score({ type: 'contains_all', ...colours }, { output: 'Red' })).toEqual({
      value: false,
      explanation: 'missing: "blue"',
    });
    expect(await score(person, { output: '{"age": 1.5}' })).toMatchObject({
      explanation: "/ must have required property 'name'",
    });
    expect(await score(person, { output: '{"name": "Ada", "age": 1.5}' })).toMatchObject({
      explanation: '/age must be integer',
    });
  });

  test('a pattern that would take for ever elsewhere is soon done, also inside a schema', async () => {
    const output = `${'a'.repeat(5_000)}!`;
    const startedAt = performance.now();
    expect(await score({ type: 'regex', pattern: '^(a+)+$' }, { output })).toEqual({
      ...{ value: false, explanation: 'no part of the output matches' },
    });
    const schema = { type: 'string', pattern: '^(a+)+$' };
    expect(await score({ type: 'json_schema', schema }, { output: JSON.stringify(output) })).toMatchObject({ value: false });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(await score({ type: 'regex', pattern: 'a' }, { output: 'a'.repeat(100_001) })).toHaveProperty('notApplicable');
  });

  test('a pattern and a schema that cannot be used are refused, with the reason', async () => {
    for (const check of [
      { type: 'regex', pattern: '(' },
      { type: 'regex', pattern: '(?=a)b' },
      { type: 'json_schema', schema: { type: 'thing' } },
      { type: 'json_schema', schema: { $ref: 'https://example.com/other.json' } },
      { type: 'json_schema', schema: { pattern: '(' } },
    ])
      await expect(mustBeComputable(Check.parse(check)), JSON.stringify(check)).rejects.toThrow(/cannot be used/);
    await expect(mustBeComputable(Check.parse(person))).resolves.toBeUndefined();
  });

  test('an edit distance up to the limit is near', async () => {
    const near = { type: 'edit_distance', max: 3 };
    expect(await score(near, { output: 'kitten', datasetOutput: 'sitting' })).toMatchObject({
      ...{ value: true, metadata: { distance: 3 } },
    });
    expect(await score({ ...near, max: 2 }, { output: 'kitten', datasetOutput: 'sitting' })).toMatchObject({ value: false });
    expect(await score(near, { output: 'kitten' })).toEqual({ notApplicable: 'the row has no reference output' });
    expect(metricOf(near).needsReference).toBe(true);
  });

  test('a latency up to the limit is quick enough', async () => {
    const quick = { type: 'latency', max_ms: 200 };
    expect(await score(quick, { durationNs: 200e6 })).toMatchObject({ value: true, metadata: { ms: 200 } });
    expect(await score(quick, { durationNs: 201e6 })).toEqual({
      ...{ value: false, explanation: 'the record took 201 ms, and may take 200', metadata: { ms: 201 } },
    });
    expect(await score(quick, {})).toEqual({ notApplicable: 'the record has no duration' });
  });

  test('a cost up to the limit is cheap enough, and one that is not known is no verdict', async () => {
    const cheap = { type: 'cost', max_usd: 0.05 };
    const call = (costUsd: number | null, countsCost = true) => record({ kind: 'llm', costUsd, countsCost });
    expect(await score(cheap, { spans: [call(0.02), call(0.03), call(9, false)] })).toMatchObject({
      ...{ value: true, metadata: { usd: 0.05 } },
    });
    const dear = { value: false, explanation: 'it cost 0.06 US dollars, and may cost 0.05' };
    expect(await score(cheap, { kind: 'llm', costUsd: 0.06 })).toMatchObject(dear);
    expect(await score(cheap, { spans: [call(0.02), call(null)] })).toEqual({
      notApplicable: 'the cost of 1 of 2 model calls is not known',
    });
    expect(await score(cheap, { spans: [call(0.06), call(null)] })).toEqual({
      ...{ ...dear, metadata: { usd: 0.06, calls_of_unknown_cost: 1 } },
    });
    expect(await score(cheap, {})).toEqual({ notApplicable: 'the cost of the record is not known' });
    expect(metricOf(cheap).readsSpans).toBe(true);
  });
});

describe('calls of tools', () => {
  const tool = (name: string, input: object) => record({ kind: 'tool', name, input: JSON.stringify(input) });
  const spans = [tool('search', { q: 'Rome', days: 2 }), tool('book', { id: 7 }), tool('search', { q: 'Bari' })];
  const check = (mode: string, ...calls: object[]) => ({ type: 'tool_calls', mode, calls });
  const rome = { name: 'search', arguments: { days: 2, q: 'Rome' } };
  const bari = { name: 'search', arguments: { q: 'Bari' } };

  test.each([
    [check('strict', rome, { name: 'book' }, bari), true],
    [check('strict', { name: 'book' }, rome, bari), false],
    [check('strict', rome, { name: 'book' }), false],
    [check('in_order', rome, bari), true],
    [check('in_order', { name: 'search' }, { name: 'search' }), true],
    [check('in_order', bari, { name: 'book' }), false],
    [check('in_order', bari, bari), false],
    [check('any_order', { name: 'search' }, bari, { name: 'book' }), true],
    [check('any_order', bari, { name: 'book' }), false],
    [check('any_order', bari, rome, { name: 'book', arguments: { id: 8 } }), false],
    [check('subset', { name: 'book', arguments: { id: 7 } }), true],
    [check('subset', bari, bari), false],
    [check('subset'), true],
    [check('any_order'), false],
  ])('%j is %s', async (wanted, value) => {
    expect(await score(wanted, { spans })).toMatchObject({ value });
  });

  test('what is missing and what was not expected is said', async () => {
    expect(await score(check('any_order', bari, { name: 'pay' }), { spans })).toEqual({
      value: false,
      explanation: 'missing: pay; not expected: search, book',
    });
  });

  test('are expected by the reference output of the row, in the form of endpoints too', async () => {
    const wanted = { type: 'tool_calls', mode: 'any_order' };
    const datasetOutput = JSON.stringify({
      tool_calls: [
        { id: '1', type: 'function', function: { name: 'book', arguments: '{"id": 7}' } },
        { id: '2', type: 'function', function: { name: 'search', arguments: '{"q": "Bari"}' } },
        { id: '3', type: 'function', function: { name: 'search', arguments: '{"q": "Rome", "days": 2}' } },
      ],
    });
    expect(await score(wanted, { spans, datasetOutput })).toEqual({ value: true });
    expect(await score(wanted, { spans })).toEqual({ notApplicable: 'the row has no reference output' });
    expect(await score(wanted, { spans, datasetOutput: 'book a table' })).toHaveProperty('notApplicable');
    expect(await score(wanted, { spans: [], datasetOutput: '[]' })).toEqual({ value: true });
    expect(metricOf(wanted)).toMatchObject({ needsReference: true, readsSpans: true });
    expect(metricOf(check('strict'))).toMatchObject({ needsReference: false });
  });

  test('that a model asked for count once where no tool was run', async () => {
    const output = JSON.stringify({
      content: '',
      role: 'assistant',
      tool_calls: [{ id: '1', function: { name: 'book', arguments: '{}' } }],
    });
    const llm = record({ kind: 'llm', output });
    expect(await score(check('strict', { name: 'book' }), { output, spans: [llm] })).toEqual({ value: true });
    expect(await score(check('strict', { name: 'book', arguments: {} }), { kind: 'llm', output })).toEqual({ value: true });
  });
});

describe('steps of an agent', () => {
  const span = (kind: ScoredRecord['kind'], name: string, output: string | null = null) => record({ kind, name, output });
  const spans = [
    span('workflow', 'chain'),
    span('agent', 'planner'),
    span('llm', 'gpt'),
    span('tool', 'search'),
    span('tool', 'search'),
    span('agent', 'writer'),
  ];
  const check = (mode: string, steps: string[] | undefined, kinds?: string[]) => ({
    ...{ type: 'trajectory', mode },
    ...(steps && { steps }),
    ...(kinds && { kinds }),
  });
  const all = ['planner', 'search', 'search', 'writer'];

  test.each([
    [check('strict', all), true],
    [check('strict', ['planner', 'search', 'writer']), false],
    [check('strict', ['search', 'search'], ['tool']), true],
    [check('strict', ['chain', 'gpt'], ['workflow', 'llm']), true],
    [check('in_order', ['planner', 'writer']), true],
    [check('in_order', ['search', 'search', 'writer']), true],
    [check('in_order', ['writer', 'planner']), false],
    [check('in_order', ['search', 'search', 'search']), false],
    [check('in_order', []), true],
    [check('any_order', all.toReversed()), true],
    [check('any_order', ['search', 'writer', 'planner']), false],
    [check('subset', ['writer', 'search']), true],
    [check('subset', ['writer', 'pay']), false],
    [check('strict', []), false],
  ])('%j is %s', async (wanted, value) => {
    expect(await score(wanted, { spans })).toMatchObject({ value });
  });

  test('a difference is explained', async () => {
    expect(await score(check('in_order', ['writer', 'planner']), { spans })).toEqual({
      value: false,
      explanation: 'expected writer, planner; made planner, search, search, writer',
    });
    expect(await score(check('subset', ['pay']), { spans })).toEqual({ value: false, explanation: 'missing: pay' });
  });

  test('are expected by the reference output of the row', async () => {
    const wanted = check('in_order', undefined);
    expect(await score(wanted, { spans, datasetOutput: '["planner", {"name": "writer"}]' })).toEqual({ value: true });
    expect(await score(wanted, { spans, datasetOutput: '["writer", "planner"]' })).toMatchObject({ value: false });
    expect(await score(wanted, { spans })).toEqual({ notApplicable: 'the row has no reference output' });
    for (const datasetOutput of ['write', '{"name": "a"}', '[1]'])
      expect(await score(wanted, { spans, datasetOutput })).toEqual({
        notApplicable: 'the reference output is no JSON list of names of steps',
      });
    expect(metricOf(wanted)).toMatchObject({ needsReference: true, readsSpans: true });
    expect(metricOf(check('strict', all))).toMatchObject({ needsReference: false });
  });

  test('are the tools that models asked for where no tool has a span, in their place', async () => {
    const asks = (name: string) => JSON.stringify({ content: '', tool_calls: [{ function: { name, arguments: '{}' } }] });
    const steps = [span('agent', 'planner'), span('llm', 'gpt', asks('search')), span('agent', 'writer')];
    expect(await score(check('strict', ['planner', 'search', 'writer']), { spans: steps })).toEqual({ value: true });
    expect(await score(check('strict', ['planner', 'writer'], ['agent']), { spans: steps })).toEqual({ value: true });
    expect(await score(check('strict', ['book']), { kind: 'llm', output: asks('book') })).toEqual({ value: true });
  });
});
