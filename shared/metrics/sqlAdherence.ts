import { JUDGED_SQL } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import type { Metric } from './metric.ts';

export const sqlAdherence: Metric = {
  name: 'sql_adherence',
  label: 'SQL Adherence',
  description: 'A judge finds that the SQL of the output answers the question.',
  ...JUDGED_SQL,
  score: judgeAnswer(
    'Decide whether the SQL in the output asks the database for what the input wants: the tables and columns, conditions, joins, groups, order and limit that the question needs, and none that change its meaning. ' +
      'Do not judge its speed. The verdict is true when the result of the query would answer the input.',
  ),
};
