import { JUDGED_SQL } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import type { Metric } from './metric.ts';

export const sqlCorrectness: Metric = {
  name: 'sql_correctness',
  label: 'SQL Correctness',
  description: 'A judge finds no error in the SQL of the output.',
  ...JUDGED_SQL,
  score: judgeAnswer(
    'Decide whether the SQL in the output would run: its syntax is right, and every table, column and function that it names exists in the schema that the input gives; without a schema, only what contradicts itself is an error. ' +
      'Do not judge whether it is the query that was wanted. The verdict is true when there is no error.',
  ),
};
