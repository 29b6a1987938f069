import { REFERENCE } from './groups.ts';
import type { Metric } from './metric.ts';
import { NO_REFERENCE } from './reasons.ts';

export const exactMatch: Metric = {
  name: 'exact_match',
  label: 'Exact Match',
  description: 'The output equals the reference output, white space at both ends aside.',
  ...REFERENCE,
  score({ output, datasetOutput }) {
    if (datasetOutput === null) return { notApplicable: NO_REFERENCE };
    if (output === null) return { notApplicable: 'the record has no output' };
    return { value: output.trim() === datasetOutput.trim() };
  },
};
