import { REFERENCE } from './groups.ts';
import type { Metric } from './metric.ts';

export const contains: Metric = {
  name: 'contains',
  label: 'Contains',
  description: 'The output contains the reference output, upper and lower case alike.',
  ...REFERENCE,
  score({ output, datasetOutput }) {
    // Every text contains the empty one: that would be a right answer to everything.
    if (datasetOutput === null || datasetOutput.trim() === '') return { notApplicable: 'the row has no reference output' };
    if (output === null) return { notApplicable: 'the record has no output' };
    return { value: output.toLowerCase().includes(datasetOutput.trim().toLowerCase()) };
  },
};
