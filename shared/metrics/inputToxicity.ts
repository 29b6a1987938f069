import { JUDGED_HARM } from './groups.ts';
import { inputOf } from './judging/material.ts';
import { rateToxicity } from './judging/rateToxicity.ts';
import type { Metric } from './metric.ts';

export const inputToxicity: Metric = {
  name: 'input_toxicity',
  label: 'Input Toxicity',
  description: 'How toxic the input is, rated by a judge: 0 is harmless, 1 is hatred or a threat of violence.',
  ...JUDGED_HARM,
  score: (record, context) => rateToxicity(inputOf(record), context),
};
