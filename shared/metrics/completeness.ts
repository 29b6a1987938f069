import { JUDGED_QUALITY } from './groups.ts';
import { askJudge, yesNo } from './judging/askJudge.ts';
import type { Metric } from './metric.ts';

export const completeness: Metric = {
  name: 'completeness',
  label: 'Completeness',
  description: 'A judge finds that the output covers everything that was asked for.',
  ...JUDGED_QUALITY,
  score(record, context) {
    if (record.input === null) return { notApplicable: 'the record has no input' };
    if (record.output === null) return { notApplicable: 'the record has no output' };
    return askJudge(
      {
        task:
          'Decide whether the output is complete: list for yourself each question, request and condition in the input, and check that the output deals with every one of them in substance. ' +
          'Do not judge whether what it says is right, only whether anything asked for is missing or broken off. The verdict is true when nothing is missing.',
        material: [
          { name: 'input', text: record.input },
          { name: 'output', text: record.output },
        ],
        answer: yesNo,
      },
      context,
    );
  },
};
