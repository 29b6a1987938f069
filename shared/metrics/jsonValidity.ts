import { REFERENCE } from './groups.ts';
import type { Metric } from './metric.ts';

export const jsonValidity: Metric = {
  name: 'json_validity',
  label: 'JSON Validity',
  description: 'The whole output is one JSON value; nothing stands around it.',
  ...REFERENCE,
  groupLabel: 'Format Metrics',
  needsReference: false,
  score({ output }) {
    if (output === null) return { notApplicable: 'the record has no output' };
    try {
      JSON.parse(output);
      return { value: true };
    } catch (err) {
      return { value: false, explanation: (err as SyntaxError).message };
    }
  },
};
