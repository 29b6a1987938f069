import { JUDGED_SQL } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import type { Metric } from './metric.ts';

export const sqlEfficiency: Metric = {
  name: 'sql_efficiency',
  label: 'SQL Efficiency',
  description: 'A judge finds that the SQL of the output does no needless work.',
  ...JUDGED_SQL,
  score: judgeAnswer(
    'Decide whether the SQL in the output does its work without waste: no columns or rows that are thrown away, no joins, subqueries or sorts that change nothing, no functions on columns that keep an index from use where it can be said otherwise. ' +
      'The verdict is true when a skilled engineer would see nothing worth changing.',
  ),
};
