import { JUDGED_ALARM } from './groups.ts';
import { yesNo } from './judging/answerForms.ts';
import { askJudge } from './judging/askJudge.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { conversationOf } from './judging/material.ts';
import type { Metric } from './metric.ts';

export const userIntentChange: Metric = {
  name: 'user_intent_change',
  label: 'User Intent Change',
  description: 'A judge finds that the user came to want something else in the course of the conversation.',
  ...JUDGED_ALARM,
  groupLabel: 'Agentic Metrics',
  kinds: ['session'],
  needsParts: ['turns'],
  score(record, context) {
    const conversation = conversationOf(record);
    if (!conversation) return { notApplicable: 'the user spoke fewer than two times' };
    return askJudge(
      {
        task: judgePrompt('userIntentChange').task,
        material: [conversation],
        answer: yesNo,
      },
      context,
    );
  },
};
