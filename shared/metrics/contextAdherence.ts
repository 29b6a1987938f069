import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { contextOf, inputOf, outputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const contextAdherence: Metric = {
  name: 'context_adherence',
  label: 'Context Adherence',
  description:
    'A judge finds every claim of the output supported by the retrieved context, or by the input where nothing was retrieved.',
  ...JUDGED_QUALITY,
  readsSpans: true,
  score(record, judging) {
    const output = outputOf(record);
    if (!output) return { notApplicable: 'the record has no output' };
    const context = contextOf(record) ?? inputOf(record);
    if (!context) return { notApplicable: 'the record has neither retrieved context nor input' };
    return askJudge(
      {
        task: judgePrompt('contextAdherence').task,
        material: [{ ...context, name: 'context' }, output],
        answer: yesNo,
      },
      judging,
    );
  },
};
