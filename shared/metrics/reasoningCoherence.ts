import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { inputOf, outputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const reasoningCoherence: Metric = {
  name: 'reasoning_coherence',
  label: 'Reasoning Coherence',
  description: 'A judge finds each step of the output to follow from the ones before.',
  ...JUDGED_QUALITY,
  score(record, context) {
    const [input, output] = [inputOf(record), outputOf(record)];
    if (!output) return { notApplicable: 'the record has no output' };
    return askJudge(
      {
        task:
          'Decide whether the reasoning in the output holds together: each step follows from the input and the steps before it, nothing contradicts an earlier step, and the conclusion is the one the steps lead to. ' +
          'An output that states a plain answer without reasoning is coherent when it does not contradict itself. The verdict is true when the reasoning is coherent.',
        material: [...(input ? [input] : []), output],
        answer: yesNo,
      },
      context,
    );
  },
};
