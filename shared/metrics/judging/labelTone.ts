import type { Score, ScoreContext } from '../metric.ts';
import { oneOf } from './answerForms.ts';
import { askJudge } from './askJudge.ts';
import type { Material } from './material.ts';

const tones = ['neutral', 'joy', 'love', 'fear', 'surprise', 'sadness', 'anger', 'annoyance', 'confusion'] as const;

/** The tone that a judge hears in a text. */
export function labelTone(text: Material | undefined, context: ScoreContext): Score | Promise<Score> {
  if (!text) return { notApplicable: 'the record has no such text' };
  return askJudge(
    {
      task: 'Name the tone in which the text is written: the feeling of whoever wrote it, not the feelings it describes. When several are present choose the strongest; when none stands out, neutral.',
      material: [{ ...text, name: 'text' }],
      answer: oneOf(tones),
    },
    context,
  );
}
