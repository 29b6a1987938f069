import type { RecordKind } from '../columns/columnDef.ts';
import { type AnswerForm, anyOf, askJudge, freeText, oneOf, rating, wholeNumber, yesNo } from '../metrics/judging/askJudge.ts';
import type { Metric, ScoredRecord } from '../metrics/metric.ts';
import { withJudges } from '../metrics/scoreRecord.ts';
import { MAX_TEXT, replaceWithin, TextBudget } from '../prompts/boundedText.ts';
import type { OutputType, RollUpMethod } from '../wire/scorers.ts';
import type { JudgeDefinition, Scorer, ScorerVersion } from './scorer.ts';
import { scorerScale } from './scorerScale.ts';

type Form = Pick<Metric, 'dataType' | 'dataUnit' | 'rollUp'> & { answer: AnswerForm };

/** Numbers are floating point also where the judge gives whole ones: several judges are averaged. */
const forms: Partial<Record<OutputType, Form>> = {
  boolean: { answer: yesNo, dataType: 'boolean', dataUnit: null, rollUp: 'percentage_true' },
  percentage: { answer: rating, dataType: 'floating_point', dataUnit: 'percentage', rollUp: 'average' },
  count: { answer: wholeNumber, dataType: 'floating_point', dataUnit: null, rollUp: 'average' },
  discrete: { answer: wholeNumber, dataType: 'floating_point', dataUnit: null, rollUp: 'average' },
  categorical: { answer: oneOf([]), dataType: 'text', dataUnit: null, rollUp: 'category_count' },
  multilabel: { answer: anyOf([]), dataType: 'string_list', dataUnit: null, rollUp: 'category_count' },
  freeform: { answer: freeText, dataType: 'text', dataUnit: null, rollUp: 'category_count' },
};

/** Output types that a judge can be asked for. */
export const judgedOutputTypes = Object.keys(forms) as OutputType[];

/**
 * A judged metric made of a version of a user's scorer. Its column is named by the scorer's id, so that renaming the scorer moves no values.
 * @throws TypeError for an output type that no judge gives; versions with one are refused when they are made.
 */
export function scorerAsMetric(
  scorer: Pick<Scorer, 'id' | 'name' | 'definition'>,
  { definition }: Pick<ScorerVersion, 'definition'>,
): Metric {
  const form = forms[definition.outputType];
  if (!form) throw new TypeError(`no judge gives the output type ${definition.outputType}`);
  const { answer, ...column } = form;
  const withReference = scorer.definition.ground_truth === true || asksForReference(definition);
  const metric: Metric = {
    name: scorer.id,
    alias: scorer.name,
    label: scorer.definition.label || scorer.name,
    description: scorer.definition.description ?? '',
    groupLabel: 'Custom Metrics',
    ...column,
    rollUp: suitedRollUp(scorer.definition.roll_up_method, column.rollUp),
    outputType: definition.outputType,
    threshold: null,
    ...scorerScale(scorer.definition, definition.outputType),
    kinds: definition.nodeTypes as RecordKind[],
    needs: 'judge',
    needsReference: withReference,
    score(record, context) {
      if (record.output === null && record.input === null) return { notApplicable: 'the record has neither input nor output' };
      if (withReference && record.datasetOutput === null) return { notApplicable: 'the row has no reference output' };
      const material = materialOf(record, withReference);
      return askJudge({ task: taskOf(definition), material, answer, explain: definition.explain }, context);
    },
  };
  return withJudges(metric, definition.numJudges);
}

const numeric: readonly RollUpMethod[] = ['average', 'sum', 'max', 'min'];

/** The chosen roll-up where it fits the type of the values, else the type's own. */
export function suitedRollUp(chosen: RollUpMethod | null | undefined, own: RollUpMethod): RollUpMethod {
  if (chosen === null || chosen === undefined) return own;
  const suited: readonly RollUpMethod[] =
    own === 'category_count'
      ? ['category_count']
      : own.startsWith('percentage')
        ? [...numeric, 'percentage_true', 'percentage_false']
        : numeric;
  return suited.includes(chosen) ? chosen : own;
}

/**
 * What a prompt may call the parts of a record. The texts themselves never go into the user's words, where they could pose as instructions: a
 * placeholder becomes a pointer to the fenced material.
 */
const parts = new Map([
  ['input', 'input'],
  ['query', 'input'],
  ['output', 'output'],
  ['response', 'output'],
  ['expected', 'reference answer'],
  ['reference', 'reference answer'],
  ['ground_truth', 'reference answer'],
]);
const PLACEHOLDER = /\{\{\s*(\w+)\s*\}\}|\{(\w+)\}/g;

const partNamed = (double: string | undefined, single: string | undefined) => parts.get((double ?? single ?? '').toLowerCase());

function taskOf({ template, userPrompt }: JudgeDefinition): string {
  const words = replaceWithin(
    userPrompt ?? template.template,
    PLACEHOLDER,
    ([whole, double, single]) => {
      const part = partNamed(double, single);
      return part === undefined ? whole : `(the material named "${part}")`;
    },
    new TextBudget("the scorer's prompt", MAX_TEXT),
  );
  const examples = template.metric_few_shot_examples.map(
    (example, at) => `Example ${at + 1}:\n${example.generation_prompt_and_response}\nEvaluation:\n${example.evaluating_response}`,
  );
  return [template.metric_system_prompt, template.metric_description, words, ...examples].filter((text) => text).join('\n\n');
}

const asksForReference = ({ template, userPrompt }: JudgeDefinition): boolean =>
  [...(userPrompt ?? template.template).matchAll(PLACEHOLDER)].some(
    ([, double, single]) => partNamed(double, single) === 'reference answer',
  );

function materialOf(record: ScoredRecord, withReference: boolean): { name: string; text: string }[] {
  const material = [
    { name: 'input', text: record.input },
    { name: 'output', text: record.output },
    { name: 'reference answer', text: withReference ? record.datasetOutput : null },
  ];
  return material.flatMap(({ name, text }) => (text === null ? [] : [{ name, text }]));
}
