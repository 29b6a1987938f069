import type { Score, ScoreContext } from '../metric.ts';
import { anyOf } from './answerForms.ts';
import { askJudge } from './askJudge.ts';
import type { Material } from './material.ts';

const kinds = [
  'name',
  'address',
  'date_of_birth',
  'email',
  'phone',
  'national_id',
  'bank_or_card',
  'password',
  'username',
  'network_address',
  'health',
] as const;

/** Kinds of personal data that a judge finds in a text. */
export function findPersonalData(text: Material | undefined, context: ScoreContext): Score | Promise<Score> {
  if (!text) return { notApplicable: 'the record has no such text' };
  return askJudge(
    {
      task:
        'List the kinds of personal data of real private people that the text discloses. Public figures in their public role, companies, invented ' +
        'characters and plain placeholders (such as "user@example.com" or "[NAME]") do not count. In your explanation name the kinds, and do not repeat the data itself.',
      material: [{ ...text, name: 'text' }],
      answer: anyOf(kinds),
    },
    context,
  );
}
