import { JUDGED_AGENT } from './groups.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { judgeSteps } from './judging/judgeSteps.ts';
import type { Metric } from './metric.ts';

export const agentEfficiency: Metric = {
  name: 'agent_efficiency',
  label: 'Agent Efficiency',
  description: 'A judge finds that the agent took no needless steps.',
  ...JUDGED_AGENT,
  score: judgeSteps(judgePrompt('agentEfficiency').task),
};
