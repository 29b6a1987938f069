import type { Metric, ScoredRecord } from '../metric.ts';
import { yesNo } from './answerForms.ts';
import { askJudge } from './askJudge.ts';
import { inputOf, outputOf, stepsOf } from './material.ts';

/** From so many spans on, those of other kinds would take the place of those that are judged. */
const MANY_SPANS = 200;

/**
 * A yes/no question about the way from the input to the output: the steps below the record, in order of their start. It is not asked of a record that
 * lacks an input or has no steps; the turns of a session are steps of their own.
 * @param kinds of the spans without one of which there is nothing to judge
 */
export const judgeSteps =
  (task: string, kinds?: readonly ScoredRecord['kind'][]): Metric['score'] =>
  (record, context) => {
    const { spans = [] } = record;
    const input = inputOf(record);
    if (!input) return { notApplicable: 'the record has no input' };
    const steps = stepsOf(record, spans.length > MANY_SPANS ? kinds : undefined);
    const hasSteps = spans.some(({ kind }) => kinds === undefined || kinds.includes(kind));
    if (!hasSteps && (kinds !== undefined || record.traces === undefined))
      return { notApplicable: `the record has no ${kinds?.join(' or ') ?? 'span'} below it` };
    const material = [input, ...(steps ? [steps] : []), outputOf(record) ?? { name: 'output', text: '(none)' }];
    return askJudge({ task, material, answer: yesNo }, context);
  };
