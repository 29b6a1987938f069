import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
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
        task: judgePrompt('reasoningCoherence').task,
        material: [...(input ? [input] : []), output],
        answer: yesNo,
      },
      context,
    );
  },
};
