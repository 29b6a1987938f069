import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { contextOf, inputOf } from './judging/material.ts';
import type { Metric } from './metric.ts';
import { NOTHING_RETRIEVED } from './reasons.ts';

export const contextRelevance: Metric = {
  name: 'context_relevance',
  label: 'Context Relevance',
  description: 'A judge finds that what was retrieved is enough to answer the input.',
  ...JUDGED_QUALITY,
  readsSpans: true,
  score(record, judging) {
    const input = inputOf(record);
    if (!input) return { notApplicable: 'the record has no input' };
    const context = contextOf(record);
    if (!context) return { notApplicable: NOTHING_RETRIEVED };
    return askJudge(
      {
        task:
          'Decide whether the context has what is needed to answer the input. What is beside the point does no harm, as long as nothing needed is missing. ' +
          'Do not use what you know yourself. The verdict is true when the input can be answered in full from the context.',
        material: [input, context],
        answer: yesNo,
      },
      judging,
    );
  },
};
