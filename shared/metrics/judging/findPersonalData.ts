import type { Score, ScoreContext } from '../metric.ts';
import { anyOf } from './answerForms.ts';
import { askJudge } from './askJudge.ts';
import { judgePrompt } from './judgePrompt.ts';
import type { Material } from './material.ts';

const prompt = judgePrompt('personalData');

/** Kinds of personal data that a judge finds in a text. */
export function findPersonalData(text: Material | undefined, context: ScoreContext): Score | Promise<Score> {
  if (!text) return { notApplicable: 'the record has no such text' };
  return askJudge(
    {
      task: prompt.task,
      material: [{ ...text, name: 'text' }],
      answer: anyOf(prompt.labels),
    },
    context,
  );
}
