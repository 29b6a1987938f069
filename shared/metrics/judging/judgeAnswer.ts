import type { Metric } from '../metric.ts';
import { askJudge, yesNo } from './askJudge.ts';

/** A yes/no question about the output as an answer to the input; of a record that lacks one of them it is not asked. */
export const judgeAnswer =
  (task: string): Metric['score'] =>
  ({ input, output }, context) => {
    if (input === null) return { notApplicable: 'the record has no input' };
    if (output === null) return { notApplicable: 'the record has no output' };
    const material = [
      { name: 'input', text: input },
      { name: 'output', text: output },
    ];
    return askJudge({ task, material, answer: yesNo }, context);
  };
