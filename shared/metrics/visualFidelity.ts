import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { seeing, withImages } from './judging/images.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { inputOf, outputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const visualFidelity: Metric = {
  name: 'visual_fidelity',
  label: 'Visual Fidelity',
  description: 'A judge finds that the images of the output show what the input asks for.',
  ...JUDGED_QUALITY,
  needsParts: ['image'],
  multimodal: 'vision',
  async score(record, context) {
    const ofOutput = withImages({ ...record, input: null });
    if ('notApplicable' in ofOutput) return ofOutput;
    const seen = withImages(record);
    if ('notApplicable' in seen) return seen;
    const [input, output] = [inputOf(seen.record), outputOf(seen.record)];
    if (!input) return { notApplicable: 'the record has no input' };
    return askJudge(
      {
        task: judgePrompt('visualFidelity').task,
        material: [input, ...(output ? [output] : [])],
        answer: yesNo,
      },
      seeing(context, seen),
    );
  },
};
