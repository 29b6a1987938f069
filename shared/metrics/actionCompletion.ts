import { JUDGED_AGENT } from './groups.ts';
import { judgeSteps } from './judging/judgeSteps.ts';
import type { Metric } from './metric.ts';

export const actionCompletion: Metric = {
  name: 'agentic_session_success',
  label: 'Action Completion',
  description: 'A judge finds that the agent did everything that the user wanted.',
  ...JUDGED_AGENT,
  score: judgeSteps(
    'Decide whether the agent reached every goal that the user has in the input. List the goals for yourself. A goal is reached when the steps and the output show that it was done and the user was told the result; ' +
      'an announcement, a question back or a partial answer does not reach it. The verdict is true when every goal is reached.',
  ),
};
