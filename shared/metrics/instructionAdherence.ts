import { JUDGED_QUALITY } from './groups.ts';
import { judgeAnswer } from './judging/judgeAnswer.ts';
import { judgePrompt } from './judging/judgePrompt.ts';
import type { Metric } from './metric.ts';

export const instructionAdherence: Metric = {
  name: 'instruction_adherence',
  label: 'Instruction Adherence',
  description: 'A judge finds that the output follows the instructions of the input.',
  ...JUDGED_QUALITY,
  score: judgeAnswer(judgePrompt('instructionAdherence').task),
};
