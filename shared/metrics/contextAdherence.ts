import { JUDGED_QUALITY } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
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
        task:
          'Decide whether every claim of the output is supported by the context. A claim is supported when the context states it or it follows from the context directly. ' +
          'What is true but not in the context is not supported. Greetings and statements that the context lacks an answer need no support. ' +
          'The verdict is true when all claims are supported, false when at least one is not.',
        material: [{ ...context, name: 'context' }, output],
        answer: yesNo,
      },
      judging,
    );
  },
};
