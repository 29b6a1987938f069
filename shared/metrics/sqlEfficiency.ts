import { JUDGED_SQL } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import type { Metric } from './metric.ts';

export const sqlEfficiency: Metric = {
  name: 'sql_efficiency',
  label: 'SQL Efficiency',
  description: 'A judge finds that the SQL of the output does no needless work.',
  ...JUDGED_SQL,
  score: judgeAnswer(judgePrompt('sqlEfficiency').task),
};
