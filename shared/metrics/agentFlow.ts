import { JUDGED_AGENT } from './groups.ts';
import { judgeSteps } from './judging/judgeSteps.ts';
import type { Metric } from './metric.ts';

export const agentFlow: Metric = {
  name: 'agent_flow',
  label: 'Agent Flow',
  description: 'A judge finds that the steps of the agent follow from each other.',
  ...JUDGED_AGENT,
  score: judgeSteps(
    'Decide whether the steps of the agent make sense as a whole: each follows from what was known before it, they come in an order that works, results and errors of tools are taken up, ' +
      'and the output agrees with them. The verdict is true when the way is right throughout.',
  ),
};
