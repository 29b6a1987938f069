import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
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
        task:
          'Decide whether the output means the same as the reference answer. Equal meaning in other words is enough; added detail is fine as long as nothing in it contradicts the reference. ' +
          'A missing part, a different number, name or conclusion means no. Do not judge whether the reference itself is right. The verdict is true when the meaning is the same.',
        material: [...(input ? [input] : []), output, reference],
        answer: yesNo,
      },
      context,
    );
  },
};
