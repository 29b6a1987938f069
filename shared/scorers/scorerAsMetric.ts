import { z } from 'zod';
import type { RecordKind } from '../columns/columnDef.ts';
import { RequestInvalid } from '../errors/errors.ts';
import {
  type AnswerForm,
  anyOf,
  freeText,
  gradeFor,
  oneOf,
  ratingFor,
  verdictFor,
  wholeNumber,
} from '../metrics/judging/answerForms.ts';
import { askJudge } from '../metrics/judging/askJudge.ts';
import type { Metric } from '../metrics/metric.ts';
import { withJudges } from '../metrics/scoreRecord.ts';
import { MAX_TEXT, replaceWithin, TextBudget } from '../prompts/boundedText.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type { OutputType, RollUpMethod } from '../wire/scorers.ts';
import { closestParts, isShownSpans, type JudgePart, judgeMaterial, partNamed, referencePart } from './judgeParts.ts';
import type { JudgeDefinition, Scorer, ScorerVersion } from './scorer.ts';
import { scorerScale } from './scorerScale.ts';

type Form = Pick<Metric, 'dataType' | 'dataUnit' | 'rollUp'> & {
  /**
   * @param question what the judge is asked, which may name a scale
   * @param categories labels that the judge may give; empty: any
   */
  answer(question: string, range: MetricScale['range'], categories: readonly string[]): AnswerForm;
};

/** Numbers are floating point also where the judge gives whole ones: several judges are averaged. */
const forms: Partial<Record<OutputType, Form>> = {
  boolean: { answer: verdictFor, dataType: 'boolean', dataUnit: null, rollUp: 'percentage_true' },
  percentage: { answer: ratingFor, dataType: 'floating_point', dataUnit: 'percentage', rollUp: 'average' },
  count: {
    answer: (_question, range) => wholeNumber(range ?? { min: 0 }),
    dataType: 'floating_point',
    dataUnit: null,
    rollUp: 'average',
  },
  discrete: {
    answer: gradeFor,
    dataType: 'floating_point',
    dataUnit: null,
    rollUp: 'average',
  },
  categorical: {
    answer: (_question, _range, categories) => oneOf(categories),
    dataType: 'text',
    dataUnit: null,
    rollUp: 'category_count',
  },
  multilabel: {
    answer: (_question, _range, categories) => anyOf(categories),
    dataType: 'string_list',
    dataUnit: null,
    rollUp: 'category_count',
  },
  freeform: { answer: () => freeText, dataType: 'text', dataUnit: null, rollUp: 'category_count' },
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
  const { answer: answerFor, ...column } = form;
  const scale = scorerScale(scorer.definition, definition.outputType);
  const categories = scorer.definition.categories ?? categoriesOf(definition.template);
  const named = partsAsked(definition);
  const needsReference = scorer.definition.ground_truth === true || named.includes(referencePart);
  const asked = needsReference ? [...new Set([...named, referencePart])] : named;
  const readsSpans = isShownSpans(definition.inputType, definition.nodeTypes) || asked.some((part) => part.readsSpans);
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
    ...scale,
    kinds: definition.nodeTypes as RecordKind[],
    needs: 'judge',
    ...(readsSpans ? { readsSpans } : {}),
    ...(asked.some((part) => part.readsRow) ? { readsRow: true } : {}),
    needsReference,
    score(record, context) {
      const material = judgeMaterial(record, definition.inputType, asked);
      if ('lacking' in material) return { notApplicable: material.lacking };
      const task = taskOf(definition);
      const answer = answerFor(task, scale.range, categories);
      return askJudge({ task, material, answer, explain: definition.explain }, context);
    },
  };
  return withJudges(metric, definition.numJudges);
}

/** The labels that the schema of an answer lists, of the value or, where it is a list, of its members. */
function categoriesOf({ response_schema, value_field_name }: JudgeDefinition['template']): readonly string[] {
  const { data } = AnswerSchema.safeParse(response_schema);
  const value = data?.properties[value_field_name];
  return value?.enum ?? value?.items?.enum ?? [];
}

const Labels = z.array(z.string().min(1)).min(1).optional();
const AnswerSchema = z.object({
  properties: z.record(z.string(), z.object({ enum: Labels, items: z.object({ enum: Labels }).optional() }).catch({})),
});

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
 * A name between double braces, as in prompts, or one with a path to a member: `{{input}}`, `{{metadata.plan}}`. A backslash before it makes it text. A
 * word between single braces is a placeholder where it is the name of a part, and else what it looks like: JSON, or a set.
 */
const PLACEHOLDER = /\\(\{\{[^{}"]*\}\})|\{\{\s*([^{}"]*?)\s*\}\}|\{(\w+)\}/g;

/**
 * The texts themselves never go into the user's words, where they could pose as instructions: a placeholder becomes a pointer to the fenced material.
 */
function taskOf({ template, userPrompt }: JudgeDefinition): string {
  const words = replaceWithin(
    userPrompt ?? template.template,
    PLACEHOLDER,
    ([whole, literal, double, single]) => {
      if (literal !== undefined) return literal;
      const part = partNamed(double ?? single ?? '');
      return part === undefined ? whole : `(the material named ${JSON.stringify(part.name)})`;
    },
    new TextBudget("the scorer's prompt", MAX_TEXT),
  );
  const examples = template.metric_few_shot_examples.map(
    (example, at) => `Example ${at + 1}:\n${example.generation_prompt_and_response}\nEvaluation:\n${example.evaluating_response}`,
  );
  return [template.metric_system_prompt, template.metric_description, words, ...examples].filter((text) => text).join('\n\n');
}

/** The parts that a prompt asks for, each once. */
function partsAsked({ template, userPrompt }: JudgeDefinition): JudgePart[] {
  const named = [...(userPrompt ?? template.template).matchAll(PLACEHOLDER)].flatMap(
    ([, , double, single]) => partNamed(double ?? single ?? '') ?? [],
  );
  return [...new Map(named.map((part) => [part.name, part])).values()];
}

/** @throws RequestInvalid for a placeholder that no part fills in, which the judge would see as braces. */
export function mustKnowPlaceholders(prompt: string, loc: (string | number)[]): void {
  const unknown = [...prompt.matchAll(PLACEHOLDER)].flatMap(([, , double]) =>
    double === undefined || partNamed(double) ? [] : [double],
  );
  if (unknown.length === 0) return;
  throw new RequestInvalid(
    [...new Set(unknown)].map((name) => ({
      loc,
      msg: `${refusalOf(name)}. For braces that are text, write \\{{${name}}}`,
      type: 'placeholder_unknown',
      input: name,
    })),
  );
}

const refusalOf = (name: string): string =>
  name === ''
    ? 'a placeholder "{{}}" has no name, such as {{input}} or {{output}}'
    : `a judge knows no ${JSON.stringify(`{{${name}}}`)}; the closest are ${closestParts(name)
        .map((part) => `{{${part}}}`)
        .join(', ')}`;
