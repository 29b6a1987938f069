import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import {
  type AnswerForm,
  anyOf,
  eachOf,
  freeText,
  gradeFor,
  ofEach,
  oneOf,
  ratingFor,
  verdictFor,
  wholeNumber,
} from '../metrics/judging/answerForms.ts';
import { askJudge } from '../metrics/judging/askJudge.ts';
import { hasImage, seeing, withImages } from '../metrics/judging/images.ts';
import { judgeEachDocument } from '../metrics/judging/judgeEachDocument.ts';
import type { Material } from '../metrics/judging/material.ts';
import type { Metric, Score, ScoreContext, ScoredRecord } from '../metrics/metric.ts';
import { withJudges } from '../metrics/scoreRecord.ts';
import { MAX_TEXT, replaceWithin, TextBudget } from '../prompts/boundedText.ts';
import type { MetricScale } from '../wire/metricScale.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { OutputType, RollUpMethod } from '../wire/scorers.ts';
import {
  closestParts,
  contextPart,
  isShownSpans,
  type JudgePart,
  judgeMaterial,
  partNamed,
  referencePart,
  requiredNamed,
} from './judgeParts.ts';
import type { JudgeDefinition, Scorer } from './scorer.ts';
import { scorerScale } from './scorerScale.ts';
import { withNamesOf } from './templateNames.ts';

type Form = Pick<Metric, 'dataType' | 'isList' | 'dataUnit' | 'rollUp'> & {
  /**
   * @param question what the judge is asked, which may name a scale
   * @param categories labels that the judge may give; empty: any
   * @param documents how many are judged, of a list of verdicts on them
   */
  answer(question: string, range: MetricScale['range'], categories: readonly string[], documents: number): AnswerForm;
};

/** Numbers are floating point also where the judge gives whole ones: several judges are averaged. */
const forms: Record<OutputType, Form> = {
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
  boolean_multilabel: {
    answer: (_question, _range, categories) => eachOf(categories),
    dataType: 'string_list',
    dataUnit: null,
    rollUp: 'category_count',
  },
  retrieved_chunk_list_boolean: {
    answer: (_question, _range, _categories, documents) => ofEach(documents),
    dataType: 'boolean',
    isList: true,
    dataUnit: null,
    rollUp: 'percentage_true',
  },
  freeform: { answer: () => freeText, dataType: 'text', dataUnit: null, rollUp: 'category_count' },
};

/**
 * A judged metric made of a version of a user's scorer. Its column is named by the scorer's id, so that renaming the scorer moves no values.
 */
export function scorerAsMetric(scorer: Pick<Scorer, 'id' | 'name' | 'definition'>, definition: JudgeDefinition): Metric {
  const { answer: answerFor, ...column } = forms[definition.outputType];
  const isOfDocuments = column.isList === true;
  const inputType = definition.inputType ?? (isOfDocuments ? 'basic' : null);
  const scale = scorerScale(scorer.definition, definition.outputType);
  const categories = scorer.definition.categories ?? categoriesOf(definition.template);
  const named = partsAsked(definition);
  const needsReference = scorer.definition.ground_truth === true || named.includes(referencePart);
  const asked = new Set([...named, ...(needsReference ? [referencePart] : []), ...(isOfDocuments ? [contextPart] : [])]);
  const readsSpans = isShownSpans(inputType, definition.nodeTypes) || [...asked].some((part) => part.readsSpans);
  const isSeeing = scorer.definition.multimodal_capabilities?.includes('vision') === true;

  const judged = (record: ScoredRecord, context: ScoreContext): Score | Promise<Score> => {
    const material = judgeMaterial(record, inputType, [...asked]);
    if ('lacking' in material) return { notApplicable: material.lacking };
    const task = taskOf(definition);
    const { explain, template } = definition;
    const answerTo = (documents: number) => withNamesOf(answerFor(task, scale.range, categories, documents), template);
    if (!isOfDocuments) return askJudge({ task, material, answer: answerTo(0), explain }, context);
    return judgeEachDocument(record, { task, material: besideDocuments(record, material), explain }, answerTo, context);
  };

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
    ...([...asked].some((part) => part.readsRow) ? { readsRow: true } : {}),
    needsReference,
    needsParts: [...new Set([...asked].flatMap(({ need }) => need ?? []))],
    ...(isSeeing ? { multimodal: 'vision' } : {}),
    score(record, context) {
      const shown = isSeeing ? shownTexts(record, inputType, [...asked]) : record;
      if (!isSeeing || !hasImage(shown)) return judged(record, context);
      const seen = withImages(shown);
      return 'notApplicable' in seen ? seen : judged(seen.record, seeing(context, seen));
    },
  };
  return withJudges(metric, definition.numJudges);
}

/** The record without the text of its own that the judge is not shown, whose images it is not to see either. */
function shownTexts(record: ScoredRecord, inputType: JudgeDefinition['inputType'], asked: readonly JudgePart[]): ScoredRecord {
  const hidden = { trace_output_only: 'input', trace_input_only: 'output' }[inputType as string];
  const isAsked = asked.some(({ name }) => name === 'transcript' || name.split(':')[0] === hidden);
  if (!hidden || isAsked) return record;
  const without = (one: ScoredRecord): ScoredRecord => ({ ...one, [hidden]: null });
  return { ...without(record), ...(record.traces ? { traces: record.traces.map(without) } : {}) };
}

/** Returns the material that a judge sees beside the documents, which come one by one. */
const besideDocuments = ({ kind }: ScoredRecord, material: readonly Material[]): Material[] =>
  material.filter(({ name }) => name !== contextPart.name && !(kind === 'retriever' && name === 'output'));

/** The labels that the schema of an answer lists, of the value or, where it is a list, of its members; or the names of its members. */
function categoriesOf({ response_schema, value_field_name }: JudgeDefinition['template']): readonly string[] {
  const { data } = AnswerSchema.safeParse(response_schema);
  const value = data?.properties[value_field_name];
  return value?.enum ?? value?.items?.enum ?? Object.keys(value?.properties ?? {});
}

const Labels = z.array(z.string().min(1)).min(1).optional();
const AnswerSchema = z.object({
  properties: z.record(
    z.string(),
    z
      .object({
        enum: Labels,
        items: z.object({ enum: Labels }).optional(),
        properties: z.record(z.string().min(1), z.unknown()).optional(),
      })
      .catch({}),
  ),
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
function taskOf({ template, userPrompt, outputType }: JudgeDefinition): string {
  const words = replaceWithin(
    userPrompt ?? template.template,
    PLACEHOLDER,
    ([whole, literal, double, single]) => {
      if (literal !== undefined) return literal;
      const part = partNamed(double ?? single ?? '');
      if (part === contextPart && outputType === 'retrieved_chunk_list_boolean') return '(the documents)';
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

/**
 * @param required the names of the metrics that the judge requires
 * @throws RequestInvalid for a placeholder that no part fills in, which the judge would see as braces.
 */
export function mustKnowPlaceholders(prompt: string, loc: (string | number)[], required: readonly string[]): void {
  const isKnown = (placeholder: string): boolean => {
    const metric = requiredNamed(placeholder);
    if (metric === undefined) return partNamed(placeholder) !== undefined;
    return metric === '' ? required.length > 0 : required.includes(metric);
  };
  const unknown = [...prompt.matchAll(PLACEHOLDER)].flatMap(([, , double]) =>
    double === undefined || isKnown(double) ? [] : [double],
  );
  if (unknown.length === 0) return;
  throw new RequestInvalid(
    [...new Set(unknown)].map((name) => ({
      loc,
      msg: `${refusalOf(name, required)}. For braces that are text, write \\{{${name}}}`,
      type: 'placeholder_unknown',
      input: name,
    })),
  );
}

function refusalOf(name: string, required: readonly string[]): string {
  if (name === '') return 'a placeholder "{{}}" has no name, such as {{input}} or {{output}}';
  if (requiredNamed(name) === undefined)
    return `a judge knows no ${JSON.stringify(`{{${name}}}`)}; the closest are ${closestParts(name)
      .map((part) => `{{${part}}}`)
      .join(', ')}`;
  const names = required.map((metric) => JSON.stringify(metric)).join(', ');
  return `${JSON.stringify(`{{${name}}}`)} names no metric that the judge requires (required_scorers): ${names || 'it requires none'}`;
}
