import { JUDGED_AGENT } from './groups.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { judgeSteps } from './judging/judgeSteps.ts';
import type { Metric } from './metric.ts';

export const actionCompletion: Metric = {
  name: 'agentic_session_success',
  label: 'Action Completion',
  description: 'A judge finds that the agent did everything that the user wanted.',
  ...JUDGED_AGENT,
  score: judgeSteps(judgePrompt('actionCompletion').task),
};
