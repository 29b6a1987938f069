import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { seeing, withImages } from './judging/images.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { outputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const visualQuality: Metric = {
  name: 'visual_quality',
  label: 'Visual Quality',
  description: 'A judge finds the images of the output free of visible faults.',
  ...JUDGED_QUALITY,
  needsParts: ['image'],
  multimodal: 'vision',
  async score(record, context) {
    const seen = withImages({ ...record, input: null });
    if ('notApplicable' in seen) return seen;
    const output = outputOf(seen.record);
    return askJudge(
      {
        task: judgePrompt('visualQuality').task,
        material: output ? [output] : [],
        answer: yesNo,
      },
      seeing(context, seen),
    );
  },
};
