import { JUDGED_AGENT } from './groups.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { judgeSteps } from './judging/judgeSteps.ts';
import type { Metric } from './metric.ts';

export const actionAdvancement: Metric = {
  name: 'agentic_workflow_success',
  label: 'Action Advancement',
  description: 'A judge finds that the agent came nearer to at least one goal of the user.',
  ...JUDGED_AGENT,
  score: judgeSteps(judgePrompt('actionAdvancement').task),
};
