import { JUDGED_LABEL } from './groups.ts';
import { labelTone } from './judging/labelTone.ts';
import { inputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const inputTone: Metric = {
  name: 'input_tone_gpt',
  label: 'Input Tone',
  description: 'The main tone of the input, named by a judge.',
  ...JUDGED_LABEL,
  score: (record, context) => labelTone(inputOf(record), context),
};
