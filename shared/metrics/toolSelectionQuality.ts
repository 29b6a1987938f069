import { JUDGED_AGENT } from './groups.ts';
import { judgeSteps } from './judging/judgeSteps.ts';
import type { Metric } from './metric.ts';

export const toolSelectionQuality: Metric = {
  name: 'tool_selection_quality',
  label: 'Tool Selection Quality',
  description: 'A judge finds that the agent called the right tools with the right arguments.',
  ...JUDGED_AGENT,
  score: judgeSteps(
    'Decide whether the agent called the right tools for the input: each call was needed, none that was needed is missing, and the arguments say what the input and the steps before it say, in full and in the right places. ' +
      'Whether a tool then failed does not count. The verdict is true when all calls are right.',
    ['tool'],
  ),
};
