import { JUDGED_LABEL } from './groups.ts';
import { findPersonalData } from './judging/findPersonalData.ts';
import { outputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const outputPii: Metric = {
  name: 'output_pii_gpt',
  label: 'Output PII',
  description: 'Kinds of personal data that a judge finds in the output.',
  ...JUDGED_LABEL,
  groupLabel: 'Safety Metrics',
  dataType: 'string_list',
  outputType: 'multilabel',
  score: (record, context) => findPersonalData(outputOf(record), context),
};
