import { JUDGED_QUALITY } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import type { Metric } from './metric.ts';

export const completeness: Metric = {
  name: 'completeness',
  label: 'Completeness',
  description: 'A judge finds that the output covers everything that was asked for.',
  ...JUDGED_QUALITY,
  score: judgeAnswer(
    'Decide whether the output is complete: list for yourself each question, request and condition in the input, and check that the output deals with every one of them in substance. ' +
      'Do not judge whether what it says is right, only whether anything asked for is missing or broken off. The verdict is true when nothing is missing.',
  ),
};
