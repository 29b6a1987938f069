import { JUDGED_HARM } from './groups.ts';
import { inputOf } from './judging/material.ts';
import { rateSexism } from './judging/rateSexism.ts';
import type { Metric } from './metric.ts';

export const inputSexism: Metric = {
  name: 'input_sexist',
  label: 'Input Sexism',
  description: 'How sexist the input is, rated by a judge: 0 is harmless, 1 is open hatred.',
  ...JUDGED_HARM,
  score: (record, context) => rateSexism(inputOf(record), context),
};
