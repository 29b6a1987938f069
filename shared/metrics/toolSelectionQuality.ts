import { JUDGED_AGENT } from './groups.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import { judgeSteps } from './judging/judgeSteps.ts';
import type { Metric } from './metric.ts';

export const toolSelectionQuality: Metric = {
  name: 'tool_selection_quality',
  label: 'Tool Selection Quality',
  description: 'A judge finds that the agent called the right tools with the right arguments.',
  ...JUDGED_AGENT,
  needsParts: ['tool_calls'],
  score: judgeSteps(judgePrompt('toolSelectionQuality').task, ['tool']),
};
