import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { roughBytes } from '../../shared/records/writeRequest.ts';

const text = 'x'.repeat(10_000);
const part = { type: 'text', text };
const call = { id: 'c', function: { name: 'look', arguments: text } };
/** Where a logged record may have a long text. */
const withText: Record<string, unknown>[] = [
  { input: text },
  { input: [{ role: 'user', content: text }] },
  { input: [{ role: 'user', content: [part] }] },
  { output: { role: 'assistant', content: [part] } },
  { output: { role: 'assistant', content: '', tool_calls: [call] } },
  { redacted_input: text },
  { tools: [{ type: 'function', function: { name: 'look', description: text } }] },
  { user_metadata: { note: text } },
  { dataset_metadata: { note: text } },
];

test.prop([fc.constantFrom(...withText), fc.constantFrom('log', 'update')])(
  'a record weighs at least what its long texts do, wherever they are',
  (fields, action) => {
    const record = { id: newId(), type: 'llm', trace_id: newId(), ...fields };
    const change = action === 'log' ? { action, record } : { action, id: record.id, of: 'span', update: fields };
    expect(roughBytes(change as never)).toBeGreaterThan(text.length);
    expect(roughBytes(change as never)).toBeLessThan(1.2 * text.length);
  },
);
