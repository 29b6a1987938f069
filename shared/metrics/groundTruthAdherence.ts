import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { inputOf, outputOf, referenceOf } from './judging/material.ts';
import type { Metric } from './metric.ts';
import { NO_REFERENCE } from './reasons.ts';

export const groundTruthAdherence: Metric = {
  name: 'ground_truth_adherence',
  label: 'Ground Truth Adherence',
  description: 'A judge finds that the output means the same as the reference output.',
  ...JUDGED_QUALITY,
  needsReference: true,
  score(record, context) {
    const [input, output, reference] = [inputOf(record), outputOf(record), referenceOf(record)];
    if (!reference) return { notApplicable: NO_REFERENCE };
    if (!output) return { notApplicable: 'the record has no output' };
    return askJudge(
      {
        task: judgePrompt('groundTruthAdherence').task,
        material: [...(input ? [input] : []), output, reference],
        answer: yesNo,
      },
      context,
    );
  },
};
