import type { CodeDescription } from '../codeMetrics/codeSandbox.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { derivedId, newId } from '../identifiers/ids.ts';
import type { ValidResult } from '../wire/codeScorers.ts';
import type { OutputType } from '../wire/scorers.ts';
import type { CreateLlmScorerVersionRequest, CreateLunaScorerVersionRequest } from '../wire/scorerVersions.ts';
import { outputTypesOf, typeSuiting } from './codeMetric.ts';
import { fittingKinds } from './fittingKinds.ts';
import { getOwnScorer, getScorer, notFound } from './manageScorers.ts';
import { recordKind } from './resolveMetrics.ts';
import type { CodeDefinition, ScorerDefinition, ScorerStore, ScorerVersion } from './scorer.ts';
import { mustKnowPlaceholders } from './scorerAsMetric.ts';
import { mustSuitScale } from './scorerScale.ts';
import { mustNameMembers } from './templateNames.ts';

/**
 * Adds a version of a judged scorer: what the request leaves out comes from the scorer's defaults. It becomes the latest and the default.
 * @throws RequestInvalid when nothing says what the judge is to be asked, or its answer cannot be named as the template says.
 */
export async function addJudgeVersion(
  store: ScorerStore,
  id: string,
  input: CreateLlmScorerVersionRequest,
  createdBy: string,
): Promise<ScorerVersion> {
  const { definition, scorerType, defaultVersion } = await getOwnScorer(store, id);
  if (scorerType !== 'llm')
    throw new RequestInvalid([
      { loc: ['path', 'scorer_id'], msg: `a ${scorerType} scorer has no judge: make a scorer of type llm`, type: 'scorer_type' },
    ]);
  const userPrompt = input.user_prompt ?? (input.chain_poll_template ? null : definition.user_prompt) ?? null;
  const text = userPrompt ?? input.chain_poll_template?.template ?? input.instructions ?? '';
  if (text.trim() === '')
    throw new RequestInvalid([
      {
        loc: ['body', 'user_prompt'],
        msg: 'say what the judge is to be asked: user_prompt, chain_poll_template or instructions',
        type: 'missing',
      },
    ]);
  mustKnowPlaceholders(text, ['body', placeOf(input)], definition.required_scorers ?? []);
  if (input.chain_poll_template) mustNameMembers(input.chain_poll_template);
  const defaults = definition.defaults;
  const outputType = input.output_type ?? definition.output_type ?? defaults?.output_type ?? 'boolean';
  mustSuitScale(definition, outputType);
  const ofDefault = defaultVersion?.definition;
  const before = ofDefault && !('code' in ofDefault) ? ofDefault : undefined;
  const models = input.model_names ?? (input.model_name ? null : defaults?.model_names) ?? null;
  const version = await store.addVersion({
    id: newId(),
    scorerId: id,
    createdBy,
    definition: {
      template: { ...emptyTemplate, ...input.chain_poll_template, template: input.chain_poll_template?.template ?? text },
      userPrompt,
      instructions: input.instructions ?? null,
      modelName: input.model_name ?? defaults?.model_name ?? before?.modelName ?? null,
      ...(models ? { modelNames: models } : {}),
      numJudges: input.num_judges ?? (models ? models.length : (defaults?.num_judges ?? 1)),
      nodeTypes: nodeTypesOf(input.scoreable_node_types, definition, input.input_type ?? definition.input_type),
      explain: input.cot_enabled ?? defaults?.cot_enabled ?? true,
      outputType,
      inputType: input.input_type ?? definition.input_type ?? null,
    },
  });
  if (!version) throw notFound(id);
  return version;
}

/** How a judge does what a tuned model would: what it is shown, and the form of its values. Ratings go from 0 to 1. */
const asJudged = {
  inputs: { span: 'basic', trace_object: 'trace_normalized', trace_input_output_only: 'trace_io_only' },
  outputs: { float: 'percentage', string: 'freeform', string_list: 'multilabel', bool_list: 'boolean' },
} as const;

/**
 * Adds a version of a scorer of a small tuned model. No such model is run here: a judge is asked the prompt, and the version says so.
 * @throws RequestInvalid for a scorer of another type, and for a prompt with an unknown placeholder
 */
export async function addTunedVersion(
  store: ScorerStore,
  id: string,
  input: CreateLunaScorerVersionRequest,
  createdBy: string,
): Promise<ScorerVersion> {
  const { definition, scorerType } = await getOwnScorer(store, id);
  if (scorerType !== 'luna')
    throw new RequestInvalid([
      {
        loc: ['path', 'scorer_id'],
        msg: `a ${scorerType} scorer is no tuned model: make a scorer of type luna`,
        type: 'scorer_type',
      },
    ]);
  mustKnowPlaceholders(input.prompt, ['body', 'prompt'], definition.required_scorers ?? []);
  const defaults = definition.defaults;
  const ofTuned = input.luna_output_type ? asJudged.outputs[input.luna_output_type] : undefined;
  const outputType = definition.output_type ?? defaults?.output_type ?? ofTuned ?? 'percentage';
  const inputType = definition.input_type ?? (input.luna_input_type ? asJudged.inputs[input.luna_input_type] : null);
  mustSuitScale(definition, outputType);
  const version = await store.addVersion({
    id: newId(),
    scorerId: id,
    createdBy,
    definition: {
      template: { ...emptyTemplate, template: input.prompt },
      userPrompt: input.prompt,
      instructions: null,
      modelName: defaults?.model_name ?? null,
      numJudges: defaults?.num_judges ?? 1,
      nodeTypes: nodeTypesOf(null, definition, inputType),
      explain: false,
      outputType,
      inputType,
      tuned: {
        loraTaskId: input.lora_task_id,
        loraWeightsPath: input.lora_weights_path ?? null,
        executor: input.executor ?? null,
        inputType: input.luna_input_type ?? null,
        outputType: input.luna_output_type ?? null,
      },
    },
  });
  if (!version) throw notFound(id);
  return version;
}

/**
 * Adds a version of a code scorer. It becomes the latest and the default.
 * @param described what the code says of itself
 * @throws RequestInvalid for a scorer of another type, for kinds of records that there are not, and where the output type or the scale of the scorer is not one of such values
 */
export async function addCodeVersion(
  store: ScorerStore,
  id: string,
  { code, described, validated }: { code: string; described: CodeDescription; validated: ValidResult },
  createdBy: string,
): Promise<ScorerVersion> {
  const { definition, scorerType } = await getOwnScorer(store, id);
  if (scorerType !== 'code')
    throw new RequestInvalid([
      { loc: ['path', 'scorer_id'], msg: `a ${scorerType} scorer has no code: make a scorer of type code`, type: 'scorer_type' },
    ]);
  if (definition.check)
    throw new RequestInvalid([
      {
        loc: ['path', 'scorer_id'],
        msg: 'this scorer has a check, which says how it computes: make another for code',
        type: 'check',
      },
    ]);
  const given = described.scoreType ?? validated.score_type;
  if (validated.score_type !== given)
    throw new RequestInvalid([
      {
        loc: ['body', 'validation_result'],
        msg: `the code gives values of the type ${given}, not ${validated.score_type}: hand in the result of this very code`,
        type: 'score_type',
      },
    ]);
  const outputType = definition.output_type ?? definition.defaults?.output_type ?? (outputTypesOf(given)[0] as OutputType);
  const scoreType = described.scoreType ?? typeSuiting(outputType, given);
  const suited = outputTypesOf(scoreType);
  if (!suited.includes(outputType))
    throw new RequestInvalid([
      {
        loc: ['body', 'file'],
        msg: `code that gives values of the type ${scoreType} suits a scorer of the output type ${suited.join(' or ')}, not ${outputType}`,
        type: 'output_type',
      },
    ]);
  mustSuitScale(definition, outputType);
  const kinds = [validated.scoreable_node_types, described.nodeTypes ?? [], definition.scoreable_node_types ?? []];
  const version = await store.addVersion({
    id: newId(),
    scorerId: id,
    createdBy,
    definition: {
      code,
      scoreType,
      nodeTypes: (kinds.find((types) => types.length > 0) ?? ['llm']).map(recordKind),
      outputType,
      aggregates: described.aggregates,
      chainAggregation: validated.chain_aggregation ?? null,
    },
  });
  if (!version) throw notFound(id);
  return version;
}

/** The code of a version, the latest by default. @throws ServiceError `NotFound` where it has none */
export async function getCode(store: ScorerStore, id: string, number: number | undefined): Promise<CodeDefinition> {
  const scorer = await getScorer(store, id);
  const version = await getVersion(store, id, number ?? 'latest');
  if (!('code' in version.definition))
    throw new ServiceError(
      'NotFound',
      `the scorer ${JSON.stringify(scorer.name)} is of type ${scorer.scorerType}: it has no code`,
    );
  return version.definition;
}

const emptyTemplate = { value_field_name: 'rating', explanation_field_name: 'explanation', metric_few_shot_examples: [] };

/** The key of a request that holds what the judge is asked; what comes from the scorer itself is in none of them. */
const placeOf = (input: CreateLlmScorerVersionRequest): string =>
  (['user_prompt', 'chain_poll_template', 'instructions'] as const).find((key) => input[key]) ?? 'user_prompt';

/** Where nothing says which: the kinds that have what the template asks for. */
const nodeTypesOf = (
  given: string[] | null | undefined,
  { scoreable_node_types, defaults }: ScorerDefinition,
  inputType: ScorerDefinition['input_type'] | null,
): string[] =>
  [given, scoreable_node_types, defaults?.scoreable_node_types].find((types) => types?.length) ?? fittingKinds(inputType);

/** Makes an earlier version the latest and the default again, as a new version of the same content: no version ever changes. @throws ServiceError `NotFound`, `Forbidden` for a built-in */
export async function restoreVersion(store: ScorerStore, id: string, number: number, restoredBy: string): Promise<ScorerVersion> {
  await getOwnScorer(store, id);
  const { definition } = await getVersion(store, id, number);
  const version = await store.addVersion({ id: newId(), scorerId: id, createdBy: restoredBy, definition });
  if (!version) throw notFound(id);
  return version;
}

/** A version by its number, or the latest. @throws ServiceError `NotFound` */
export async function getVersion(
  store: Pick<ScorerStore, 'find' | 'findVersion'>,
  id: string,
  number: number | 'latest',
): Promise<ScorerVersion> {
  const scorer = await getScorer(store, id);
  const version = await store.findVersion(id, number);
  if (!version)
    throw new ServiceError(
      'NotFound',
      `the scorer ${JSON.stringify(scorer.name)} has no ${number === 'latest' ? 'version' : `version ${number}`}`,
    );
  return version;
}

/** The id of what a version generated: the interface gives it one of its own beside the version's. */
export const generatedScorerId = (version: ScorerVersion): string => derivedId('generated scorer', version.id);
