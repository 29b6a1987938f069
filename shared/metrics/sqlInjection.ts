import { JUDGED_ALARM } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import type { Metric } from './metric.ts';

export const sqlInjection: Metric = {
  name: 'sql_injection',
  label: 'SQL Injection',
  description: 'A judge finds that the SQL of the output carries out an attack of the input.',
  ...JUDGED_ALARM,
  score: judgeAnswer(judgePrompt('sqlInjection').task),
};
