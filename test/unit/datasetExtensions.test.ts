import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import type { ExtensionRequest, GeneratedRow } from '../../shared/datasetExtensions/extension.ts';
import { BATCH_ROWS, messagesFor, nextBatch } from '../../shared/datasetExtensions/nextBatch.ts';
import { parseRows } from '../../shared/datasetExtensions/parseRows.ts';
import { syntheticDataTypes } from '../../shared/wire/datasetExtensions.ts';

const text = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('a "quoted" {brace', 'two\nlines', '[1] \\', '日本 🙂'));
const cell = text.map((one) => one.replaceAll('\u0000', '').trim()).filter((one) => one !== '');
const rows = fc.array(fc.record({ input: cell, output: cell }), { minLength: 1, maxLength: 5 });
const wraps: ((made: GeneratedRow[]) => string)[] = [
  (made) => JSON.stringify({ rows: made }),
  (made) => JSON.stringify({ questions: made }),
  (made) => JSON.stringify(made, null, 2),
  (made) => `Here you are:\n\`\`\`json\n${JSON.stringify({ rows: made })}\n\`\`\`\nAnything else?`,
  (made) => made.map((row) => JSON.stringify(row)).join('\n'),
  (made) => JSON.stringify({ rows: [17, null, {}, { input: '' }, ...made, { output: 'no input' }] }),
  // The names are not quite right.
  (made) => JSON.stringify({ rows: made.map(({ input, output }) => ({ Question: input, OUTPUT: output })) }),
];

test.prop([rows, fc.constantFrom(...wraps)])('the rows of an answer are found however it wraps them', (made, wrap) => {
  expect(parseRows(wrap(made), ['input', 'output'])).toEqual(made);
});

test.prop([rows, fc.nat()])('of an answer that was cut off the rows before the cut are kept', (made, at) => {
  const whole = JSON.stringify({ rows: made });
  const cut = whole.slice(0, at % (whole.length + 1));
  const found = parseRows(cut, ['input', 'output']);
  expect(found).toEqual(made.slice(0, found.length));
  const lastWhole = made.filter((_, index) => JSON.stringify({ rows: made.slice(0, index + 1) }).length - 2 <= cut.length).length;
  expect(found.length).toBeGreaterThanOrEqual(lastWhole);
});

test.prop([fc.string({ maxLength: 300 })])('any answer gives rows with an input, and fails never', (answer) => {
  for (const row of parseRows(answer, ['input'])) expect(row.input).toMatch(/\S/);
});

const units = fc.array(fc.oneof(fc.constantFrom(0, 32, 0xd800, 0xdc00), fc.nat(0xffff)), { maxLength: 5 });
const anyText = units.map((codes) => String.fromCharCode(...codes));
test.prop([anyText, anyText])('what an answer holds can be stored: no NUL, and no half of a character', (input, output) => {
  for (const row of parseRows(JSON.stringify([{ input, output }]), ['input', 'output'])) {
    expect(row.input).toMatch(/\S/);
    for (const cell of Object.values(row)) expect([cell.isWellFormed(), cell.includes('\u0000')]).toEqual([true, false]);
  }
});

test('lists of plain texts and of lines are rows, too', () => {
  expect(parseRows('["one", "two"]', ['input'])).toEqual([{ input: 'one' }, { input: 'two' }]);
  expect(parseRows('{"rows": ["one"]}', ['input'])).toEqual([{ input: 'one' }]);
  expect(parseRows('Sure!\n1. one\n2) "two"\n- three', ['input'])).toEqual([
    { input: 'one' },
    { input: 'two' },
    { input: 'three' },
  ]);
  expect(parseRows('{"input": {"city": "Rome"}, "output": 4}', ['input', 'output'])).toEqual([
    { input: '{"city":"Rome"}', output: '4' },
  ]);
  expect(parseRows('I cannot do that.', ['input'])).toEqual([]);
});

test.prop([fc.integer({ min: 1, max: 200 }), fc.subarray([...syntheticDataTypes])])(
  'rows are spread over the kinds that were asked for, in calls of at most ten',
  (count, dataTypes) => {
    const request: ExtensionRequest = {
      ...{ model: 'm', count, prompt: 'p', instructions: null, examples: ['e'], dataTypes, sourceRows: [], columns: ['input'] },
      ...{ userId: 'u', projectId: undefined },
    };
    const made: GeneratedRow[] = [];
    for (let calls = 0; calls <= count; calls++) {
      const batch = nextBatch({ request, rows: made });
      if (!batch) break;
      expect(batch.size).toBeLessThanOrEqual(BATCH_ROWS);
      expect(JSON.stringify(messagesFor({ request, rows: made }, batch))).toContain(`Make ${batch.size} new`);
      for (let row = 0; row < batch.size; row++)
        made.push({ input: `${made.length}`, ...(batch.dataType ? { data_type: batch.dataType } : {}) });
    }
    expect(made).toHaveLength(count);
    const sizes = dataTypes.map((type) => made.filter(({ data_type }) => data_type === type).length);
    if (sizes.length > 0) expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
  },
);
