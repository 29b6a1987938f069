import { JUDGED_AGENT } from './groups.ts';
import { judgeSteps } from './judging/judgeSteps.ts';
import type { Metric } from './metric.ts';

export const actionAdvancement: Metric = {
  name: 'agentic_workflow_success',
  label: 'Action Advancement',
  description: 'A judge finds that the agent came nearer to at least one goal of the user.',
  ...JUDGED_AGENT,
  score: judgeSteps(
    'Decide whether the agent came nearer to at least one goal that the user has in the input: it reached it, found out something that is needed for it, or asked the user for what is missing. ' +
      'What it says must agree with what its tools answered. The verdict is true when it made such progress.',
  ),
};
