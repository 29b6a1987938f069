import type { Constraints, Template } from '../data/annotations.ts';

/** The kinds of questions, and what each asks for besides its name. */
export const questionKinds = [
  ['like_dislike', 'Yes or no'],
  ['star', '1 to 5 stars'],
  ['score', 'Score'],
  ['choice', 'One of several'],
  ['tags', 'Some of several'],
  ['tree_choice', 'One of a tree'],
  ['text', 'Text'],
] as const;
export type QuestionKind = (typeof questionKinds)[number][0];

/** One line that says what a question is answered by. */
export function constraintsText(constraints: Template['constraints']): string {
  switch (constraints.annotation_type) {
    case 'score':
      return `Score, ${constraints.min} to ${constraints.max}`;
    case 'choice':
      return `One of ${listText(constraints.choices, constraints.allow_other)}`;
    case 'tags':
      return `Some of ${listText(constraints.tags, constraints.allow_other)}`;
    default:
      return questionKinds.find(([kind]) => kind === constraints.annotation_type)?.[1] ?? constraints.annotation_type;
  }
}

const listText = (values: readonly string[], hasOther: boolean) => `${values.join(', ')}${hasOther ? ', or another' : ''}`;

const lines = (text: FormDataEntryValue | null): string[] => [
  ...new Set(
    String(text ?? '')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ),
];

/** Reads the fields of the form: `values` has one a line, or the YAML of a tree. */
export function constraintsOf(kind: QuestionKind, form: FormData): Constraints {
  const allow_other = form.get('other') === 'on';
  switch (kind) {
    case 'score':
      return { annotation_type: kind, min: Number(form.get('min')), max: Number(form.get('max')) };
    case 'choice':
      return { annotation_type: kind, choices: lines(form.get('values')), allow_other };
    case 'tags':
      return { annotation_type: kind, tags: lines(form.get('values')), allow_other };
    case 'tree_choice':
      return { annotation_type: kind, choices_tree_yaml: String(form.get('values')) };
    default:
      return { annotation_type: kind };
  }
}
