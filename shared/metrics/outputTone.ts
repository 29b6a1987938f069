import { JUDGED_LABEL } from './groups.ts';
import { labelTone } from './judging/labelTone.ts';
import { outputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const outputTone: Metric = {
  name: 'output_tone_gpt',
  label: 'Output Tone',
  description: 'The main tone of the output, named by a judge.',
  ...JUDGED_LABEL,
  score: (record, context) => labelTone(outputOf(record), context),
};
