import { REFERENCE } from './groups.ts';
import type { Metric } from './metric.ts';

export const exactMatch: Metric = {
  name: 'exact_match',
  label: 'Exact Match',
  description: 'The output equals the reference output, white space at both ends aside.',
  ...REFERENCE,
  score({ output, datasetOutput }) {
    if (datasetOutput === null) return { notApplicable: 'the row has no reference output' };
    if (output === null) return { notApplicable: 'the record has no output' };
    return { value: output.trim() === datasetOutput.trim() };
  },
};
