import { JUDGED_ALARM } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { inputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const promptInjection: Metric = {
  name: 'prompt_injection',
  label: 'Prompt Injection',
  description: 'A judge finds an attempt in the input to take over the model.',
  ...JUDGED_ALARM,
  score(record, context) {
    const input = inputOf(record);
    if (!input) return { notApplicable: 'the record has no input' };
    return askJudge(
      {
        task: judgePrompt('promptInjection').task,
        material: [input],
        answer: yesNo,
      },
      context,
    );
  },
};
