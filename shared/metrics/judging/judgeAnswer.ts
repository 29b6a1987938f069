import type { Metric } from '../metric.ts';
import { yesNo } from './answerForms.ts';
import { askJudge } from './askJudge.ts';
import { inputOf, outputOf } from './material.ts';

/** A yes/no question about the output as an answer to the input; of a record that lacks one of them it is not asked. */
export const judgeAnswer =
  (task: string): Metric['score'] =>
  (record, context) => {
    const input = inputOf(record);
    if (!input) return { notApplicable: 'the record has no input' };
    const output = outputOf(record);
    if (!output) return { notApplicable: 'the record has no output' };
    return askJudge({ task, material: [input, output], answer: yesNo }, context);
  };
