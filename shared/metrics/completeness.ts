import { JUDGED_QUALITY } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import type { Metric } from './metric.ts';

export const completeness: Metric = {
  name: 'completeness',
  label: 'Completeness',
  description: 'A judge finds that the output covers everything that was asked for.',
  ...JUDGED_QUALITY,
  score: judgeAnswer(judgePrompt('completeness').task),
};
