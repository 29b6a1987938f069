import { JUDGED_SQL } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import type { Metric } from './metric.ts';

export const sqlAdherence: Metric = {
  name: 'sql_adherence',
  label: 'SQL Adherence',
  description: 'A judge finds that the SQL of the output answers the question.',
  ...JUDGED_SQL,
  score: judgeAnswer(judgePrompt('sqlAdherence').task),
};
