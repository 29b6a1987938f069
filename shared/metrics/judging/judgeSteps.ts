import type { Metric, ScoredRecord } from '../metric.ts';
import { askJudge, yesNo } from './askJudge.ts';

/** Steps that a judge is shown, and characters of one's input or output: an agent may take thousands, and repeat its prompt in each. */
const MAX_STEPS = 200;
const MAX_CHARACTERS = 4_000;

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
      { name: 'steps', text: stepsText(spans) },
      { name: 'output', text: output ?? '(none)' },
    ];
    return askJudge({ task, material, answer: yesNo }, context);
  };

function stepsText(spans: readonly ScoredRecord[]): string {
  const texts = spans.slice(0, MAX_STEPS).map((span, index) => `${index + 1}. ${stepText(span)}`);
  return [...texts, ...(spans.length > MAX_STEPS ? [`(and ${spans.length - MAX_STEPS} more)`] : [])].join('\n');
}

/** The input of a model's call repeats what came before it. */
function stepText({ kind, name, input, output, errorMessage }: ScoredRecord): string {
  const said = [
    ...(kind === 'llm' || input === null ? [] : [`input: ${cut(input)}`]),
    ...(output === null ? [] : [`output: ${cut(output)}`]),
    ...(errorMessage ? [`error: ${cut(errorMessage)}`] : []),
  ];
  return [`${kind} ${JSON.stringify(name)}`, ...said].join('\n   ');
}

const cut = (text: string): string =>
  text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS).toWellFormed()}… (${text.length} characters)` : text;
