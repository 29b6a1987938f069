import type { Metric, ScoredRecord } from '../metric.ts';
import { askJudge, yesNo } from './askJudge.ts';

/** Steps that a judge is shown: an agent may take thousands. */
const MAX_STEPS = 200;
/** Characters of one's input or output, which may repeat a prompt, and of all together: what judges' models take in, with room for the question. */
const MAX_CHARACTERS = 4_000;
const MAX_CHARACTERS_IN_ALL = 200_000;

/**
 * A yes/no question about the way from the input to the output: the steps below the record, in order of their start. It is not asked of a record that
 * lacks an input or has no steps.
 * @param kinds of the spans without one of which there is nothing to judge
 */
export const judgeSteps =
  (task: string, kinds?: readonly ScoredRecord['kind'][]): Metric['score'] =>
  ({ input, output, spans = [] }, context) => {
    if (input === null) return { notApplicable: 'the record has no input' };
    const judged = kinds === undefined ? spans : spans.filter(({ kind }) => kinds.includes(kind));
    if (judged.length === 0) return { notApplicable: `the record has no ${kinds?.join(' or ') ?? 'span'} below it` };
    const material = [
      { name: 'input', text: input },
      { name: 'steps', text: stepsText(spans.length > MAX_STEPS ? judged : spans) },
      { name: 'output', text: output ?? '(none)' },
    ];
    return askJudge({ task, material, answer: yesNo }, context);
  };

/** Of too many steps the first and the last are shown. */
function stepsText(spans: readonly ScoredRecord[]): string {
  const left = Math.max(0, spans.length - MAX_STEPS);
  const shown = [...spans.entries()].filter(([index]) => index < MAX_STEPS / 2 || index >= MAX_STEPS / 2 + left);
  const textOf = (characters: number): string => {
    const texts = shown.map(([index, span]) => `${index + 1}. ${stepText(span, characters)}`);
    return (left > 0 ? texts.toSpliced(MAX_STEPS / 2, 0, `(${left} more)`) : texts).join('\n');
  };
  const text = textOf(MAX_CHARACTERS);
  return text.length <= MAX_CHARACTERS_IN_ALL ? text : textOf(Math.floor(MAX_CHARACTERS_IN_ALL / (TEXTS_OF_STEP * shown.length)));
}

const TEXTS_OF_STEP = 3;

/** The input of a model's call repeats what came before it. */
function stepText({ kind, name, input, output, errorMessage }: ScoredRecord, characters: number): string {
  const cut = (text: string): string =>
    text.length > characters ? `${text.slice(0, characters).toWellFormed()}… (${text.length} characters)` : text;
  const said = [
    ...(kind === 'llm' || input === null ? [] : [`input: ${cut(input)}`]),
    ...(output === null ? [] : [`output: ${cut(output)}`]),
    ...(errorMessage ? [`error: ${cut(errorMessage)}`] : []),
  ];
  return [`${kind} ${JSON.stringify(name)}`, ...said].join('\n   ');
}
