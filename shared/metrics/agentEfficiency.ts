import { JUDGED_AGENT } from './groups.ts';
import { judgeSteps } from './judging/judgeSteps.ts';
import type { Metric } from './metric.ts';

export const agentEfficiency: Metric = {
  name: 'agent_efficiency',
  label: 'Agent Efficiency',
  description: 'A judge finds that the agent took no needless steps.',
  ...JUDGED_AGENT,
  score: judgeSteps(
    'Decide whether the agent went a direct way from the input to the output. Needless are steps that repeat one before them, gather what nobody uses, or undo what was done; ' +
      'a repetition after an error, and a check of a result that matters, are not needless. The verdict is true when no step, or hardly one, is needless.',
  ),
};
