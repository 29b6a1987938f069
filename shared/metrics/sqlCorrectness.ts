import { JUDGED_SQL } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import type { Metric } from './metric.ts';

export const sqlCorrectness: Metric = {
  name: 'sql_correctness',
  label: 'SQL Correctness',
  description: 'A judge finds no error in the SQL of the output.',
  ...JUDGED_SQL,
  score: judgeAnswer(judgePrompt('sqlCorrectness').task),
};
