import { fc, test } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import { readableJson } from '../../shared/otel/readableJson.ts';

/** As Python's `json.dumps` writes by default. */
const ascii = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

describe('JSON of ASCII alone', () => {
  test.each([
    ['{"city": "Z\\u00fcrich"}', '{"city": "Zürich"}'],
    ['["\\ud83d\\ude00", 12345678901234567890, "a\\nb"]', '["😀", 12345678901234567890, "a\\nb"]'],
    ['{"args": ["{\\"city\\": \\"Z\\\\u00fcrich\\"}"]}', '{"args": ["{\\"city\\": \\"Zürich\\"}"]}'],
    ['"Gr\\u00fc\\u00dfe"', '"Grüße"'],
    ['{"path": "C:\\\\u00fc"}', '{"path": "C:\\\\u00fc"}'],
    ['{"quote": "\\u0022\\u005c\\u000a", "half": "\\ud83d"}', '{"quote": "\\u0022\\u005c\\u000a", "half": "\\ud83d"}'],
    ['{"cut": "Z\\u00fcr', '{"cut": "Z\\u00fcr'],
    ['Z\\u00fcrich', 'Z\\u00fcrich'],
  ])('%s is read as %s', (given, wanted) => {
    expect(readableJson(given)).toBe(wanted);
  });

  test.prop([fc.jsonValue({ stringUnit: 'binary' })])('means what it meant, and needs no escapes', (value) => {
    const readable = readableJson(ascii(value));
    expect(JSON.parse(readable)).toEqual(JSON.parse(ascii(value)));
    expect(readable).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0[1-9a-f]|[1-9a-c])/i);
  });

  test.prop([fc.jsonValue({ stringUnit: 'binary' })])('within JSON keeps its meaning', (value) => {
    const nested = ascii({ input: ascii({ value }) });
    expect(JSON.parse(JSON.parse(readableJson(nested)).input)).toEqual(JSON.parse(JSON.stringify({ value })));
  });
});
