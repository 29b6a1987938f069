import { JUDGED_QUALITY } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import type { Metric } from './metric.ts';

export const conversationQuality: Metric = {
  name: 'conversation_quality',
  label: 'Conversation Quality',
  description: 'A judge finds that the user was served well.',
  ...JUDGED_QUALITY,
  score: judgeAnswer(judgePrompt('conversationQuality').task),
};
