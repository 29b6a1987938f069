import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { inputOf, outputOf, referenceOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const correctness: Metric = {
  name: 'correctness',
  label: 'Correctness',
  description:
    'A judge finds the factual claims of the output right; the reference output settles what is right where the row has one.',
  ...JUDGED_QUALITY,
  score(record, context) {
    const [input, output, reference] = [inputOf(record), outputOf(record), referenceOf(record)];
    if (!output) return { notApplicable: 'the record has no output' };
    if (!input && !reference) return { notApplicable: 'the record has neither an input nor a reference output' };
    return askJudge(
      {
        task:
          'Decide whether the output answers the input correctly. Check every factual claim, every calculation and the final answer. ' +
          'When a reference answer is given it is right: the output must agree with it in substance, while wording, order, units written differently and added detail do not matter. ' +
          'An output that is wrong in its final answer, contradicts itself, or avoids the question is not correct. The verdict is true when the output is correct, false when it is not.',
        material: [...(input ? [input] : []), output, ...(reference ? [reference] : [])],
        answer: yesNo,
      },
      context,
    );
  },
};
