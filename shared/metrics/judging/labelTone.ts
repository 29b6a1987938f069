import type { Score, ScoreContext } from '../metric.ts';
import { oneOf } from './answerForms.ts';
import { askJudge } from './askJudge.ts';
import { judgePrompt } from './judgePrompt.ts';
import type { Material } from './material.ts';

const prompt = judgePrompt('tone');

/** The tone that a judge hears in a text. */
export function labelTone(text: Material | undefined, context: ScoreContext): Score | Promise<Score> {
  if (!text) return { notApplicable: 'the record has no such text' };
  return askJudge(
    {
      task: prompt.task,
      material: [{ ...text, name: 'text' }],
      answer: oneOf(prompt.labels),
    },
    context,
  );
}
