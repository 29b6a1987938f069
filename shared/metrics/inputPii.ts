import { JUDGED_LABEL } from './groups.ts';
import { findPersonalData } from './judging/findPersonalData.ts';
import { inputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const inputPii: Metric = {
  name: 'input_pii_gpt',
  label: 'Input PII',
  description: 'Kinds of personal data that a judge finds in the input.',
  ...JUDGED_LABEL,
  groupLabel: 'Safety Metrics',
  dataType: 'string_list',
  outputType: 'multilabel',
  score: (record, context) => findPersonalData(inputOf(record), context),
};
