import type { Score, ScoreContext } from '../metric.ts';
import { rating } from './answerForms.ts';
import { askJudge } from './askJudge.ts';
import { judgePrompt } from './judgePrompt.ts';
import type { Material } from './material.ts';

/** A judge's rating of how sexist a text is, as a fraction in [0, 1]. */
export function rateSexism(text: Material | undefined, context: ScoreContext): Score | Promise<Score> {
  if (!text) return { notApplicable: 'the record has no such text' };
  return askJudge(
    {
      task: judgePrompt('sexism').task,
      material: [{ ...text, name: 'text' }],
      answer: rating,
    },
    context,
  );
}
