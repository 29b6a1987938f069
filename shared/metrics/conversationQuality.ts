import { JUDGED_QUALITY } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import type { Metric } from './metric.ts';

export const conversationQuality: Metric = {
  name: 'conversation_quality',
  label: 'Conversation Quality',
  description: 'A judge finds that the user was served well.',
  ...JUDGED_QUALITY,
  score: judgeAnswer(
    'Decide whether the user who wrote the input would leave satisfied with the output: it understands what they want, helps them with it, stays polite and coherent, and leaves them neither stuck nor annoyed. ' +
      'The verdict is true when a reasonable user would be satisfied.',
  ),
};
