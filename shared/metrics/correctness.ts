import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
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
        task: judgePrompt('correctness').task,
        material: [...(input ? [input] : []), output, ...(reference ? [reference] : [])],
        answer: yesNo,
      },
      context,
    );
  },
};
