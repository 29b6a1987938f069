import { JUDGED_AGENT } from './groups.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { judgeSteps } from './judging/judgeSteps.ts';
import type { Metric } from './metric.ts';

export const agentFlow: Metric = {
  name: 'agent_flow',
  label: 'Agent Flow',
  description: 'A judge finds that the steps of the agent follow from each other.',
  ...JUDGED_AGENT,
  score: judgeSteps(judgePrompt('agentFlow').task),
};
