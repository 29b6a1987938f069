import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { contextOf, inputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';
import { NOTHING_RETRIEVED } from './reasons.ts';

export const contextRelevance: Metric = {
  name: 'context_relevance',
  label: 'Context Relevance',
  description: 'A judge finds that what was retrieved is enough to answer the input.',
  ...JUDGED_QUALITY,
  readsSpans: true,
  needsParts: ['context'],
  score(record, judging) {
    const input = inputOf(record);
    if (!input) return { notApplicable: 'the record has no input' };
    const context = contextOf(record);
    if (!context) return { notApplicable: NOTHING_RETRIEVED };
    return askJudge(
      {
        task: judgePrompt('contextRelevance').task,
        material: [input, context],
        answer: yesNo,
      },
      judging,
    );
  },
};
