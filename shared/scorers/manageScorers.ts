import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { foldCase } from '../identifiers/foldCase.ts';
import { derivedId, newId } from '../identifiers/ids.ts';
import type { CreateLlmScorerVersionRequest, CreateScorerRequest, ScorerType, UpdateScorerRequest } from '../wire/scorers.ts';
import { fittingKinds } from './fittingKinds.ts';
import { builtinByName, presetById } from './presets.ts';
import type { Scorer, ScorerDefinition, ScorerStore, ScorerVersion } from './scorer.ts';
import { judgedOutputTypes, mustKnowPlaceholders } from './scorerAsMetric.ts';
import { mustSuitScale, outputTypeOf } from './scorerScale.ts';

/**
 * Stores a scorer: of its projects, or of the organization without any. It computes nothing until it has a version.
 * @param seen the scorers that its author sees
 * @throws ServiceError `Conflict` when one of those, or a built-in metric, has the name.
 */
export async function createScorer(
  store: ScorerStore,
  seen: Pick<ScorerStore, 'list'>,
  input: CreateScorerRequest,
  createdBy: string,
): Promise<Scorer> {
  if (input.scorer_type === 'preset')
    throw new RequestInvalid([
      { loc: ['body', 'scorer_type'], msg: 'preset scorers are built in; make one of type llm', type: 'scorer_type' },
    ]);
  refuseBuiltinName(input.name);
  mustSuitScale(input, input.output_type ?? input.defaults?.output_type ?? undefined);
  checkPrompt(input.scorer_type, input);
  const { id = null, name, scorer_type, project_ids, default_version_id: _none, ...settings } = input;
  const scorer = {
    id: id ?? newId(),
    name,
    scorerType: scorer_type,
    definition: present(settings),
    organization: project_ids.length === 0 || input.is_global === true,
    projectIds: project_ids,
    createdBy,
  };
  await refuseTakenName(seen, name, scorer.id);
  if (presetById(scorer.id) || !(await store.insert(scorer))) throw nameTaken(name);
  return getScorer(store, scorer.id);
}

/** @throws ServiceError `NotFound` */
export async function getScorer(store: Pick<ScorerStore, 'find'>, id: string): Promise<Scorer> {
  const scorer = presetById(id) ?? (await store.find(id));
  if (!scorer) throw notFound(id);
  return scorer;
}

/** Changes what is given. @throws ServiceError `NotFound`, `Forbidden` for a built-in, `Conflict` when the new name is taken. */
export async function updateScorer(
  store: ScorerStore,
  seen: Pick<ScorerStore, 'list'>,
  id: string,
  input: UpdateScorerRequest,
): Promise<Scorer> {
  const scorer = await getOwnScorer(store, id);
  const { name, default_version_id, ...settings } = input;
  if (name && foldCase(name) !== foldCase(scorer.name)) {
    refuseBuiltinName(name);
    await refuseTakenName(seen, name, id);
  }
  if (default_version_id && (await store.findVersionById(default_version_id))?.scorerId !== id)
    throw new RequestInvalid([
      { loc: ['body', 'default_version_id'], msg: 'this scorer has no such version', type: 'version_unknown' },
    ]);
  checkPrompt(scorer.scorerType, settings);
  const definition = { ...present(settings), ...takenBack(settings) };
  mustSuitScale(definition, settings.output_type ?? outputTypeOf(scorer));
  const change = { name: name ?? undefined, defaultVersionId: default_version_id ?? undefined, definition };
  if (!(await store.update(id, change))) throw nameTaken(name ?? scorer.name);
  return getScorer(store, id);
}

/** Takes a scorer out of every list; runs that used it keep their values. @throws ServiceError `NotFound`, `Forbidden` for a built-in. */
export async function deleteScorer(store: ScorerStore, id: string): Promise<Scorer> {
  const scorer = await getOwnScorer(store, id);
  if (!(await store.delete(id))) throw notFound(id);
  return scorer;
}

/**
 * Adds a version of a judged scorer: what the request leaves out comes from the scorer's defaults. It becomes the latest and the default.
 * @throws RequestInvalid when nothing says what the judge is to be asked, or for an output type that no judge gives.
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
  mustKnowPlaceholders(text, ['body', placeOf(input)]);
  const defaults = definition.defaults;
  const outputType = input.output_type ?? definition.output_type ?? defaults?.output_type ?? 'boolean';
  if (!judgedOutputTypes.includes(outputType))
    throw new RequestInvalid([
      {
        loc: ['body', 'output_type'],
        msg: `a judge gives one of ${judgedOutputTypes.join(', ')}, not ${outputType}`,
        type: 'output_type',
      },
    ]);
  mustSuitScale(definition, outputType);
  const models = input.model_names ?? (input.model_name ? null : defaults?.model_names) ?? null;
  const emptyTemplate = { value_field_name: 'rating', explanation_field_name: 'explanation', metric_few_shot_examples: [] };
  const version = await store.addVersion({
    id: newId(),
    scorerId: id,
    createdBy,
    definition: {
      template: { ...emptyTemplate, ...input.chain_poll_template, template: input.chain_poll_template?.template ?? text },
      userPrompt,
      instructions: input.instructions ?? null,
      modelName: input.model_name ?? defaults?.model_name ?? defaultVersion?.definition.modelName ?? null,
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
export async function getVersion(store: ScorerStore, id: string, number: number | 'latest'): Promise<ScorerVersion> {
  const scorer = await getScorer(store, id);
  const version = await store.findVersion(id, number);
  if (!version)
    throw new ServiceError(
      'NotFound',
      `the scorer ${JSON.stringify(scorer.name)} has no ${number === 'latest' ? 'version' : `version ${number}`}`,
    );
  return version;
}

async function getOwnScorer(store: ScorerStore, id: string): Promise<Scorer> {
  const scorer = await getScorer(store, id);
  if (scorer.scorerType === 'preset')
    throw new ServiceError('Forbidden', `${JSON.stringify(scorer.name)} is built in and cannot be changed or deleted`);
  return scorer;
}

/** Other types than judges may have placeholders of their own. @throws RequestInvalid for unknown placeholders */
function checkPrompt(type: ScorerType, { user_prompt }: Pick<CreateScorerRequest, 'user_prompt'>): void {
  if (type === 'llm' && user_prompt) mustKnowPlaceholders(user_prompt, ['body', 'user_prompt']);
}

function refuseBuiltinName(name: string): void {
  if (builtinByName(name))
    throw new ServiceError('Conflict', `${JSON.stringify(name)} is the name of a built-in metric: choose another`);
}

async function refuseTakenName(seen: Pick<ScorerStore, 'list'>, name: string, id: string): Promise<void> {
  const isTaken = (await seen.list()).some((other) => other.id !== id && foldCase(other.name) === foldCase(name));
  if (isTaken) throw nameTaken(name);
}

const notFound = (id: string) => new ServiceError('NotFound', `no scorer has the id ${id}`);
const nameTaken = (name: string) =>
  new ServiceError('Conflict', `a scorer called ${JSON.stringify(name)} exists already (names are compared without case)`);

/** Without the members that are null or absent: `null` stands for absent. */
const present = (settings: object): ScorerDefinition =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null && value !== undefined));

/** What null says of a scorer that had one: no direction, no range, no categories. */
const takenBack = ({
  direction,
  range,
  categories,
}: UpdateScorerRequest): Pick<ScorerDefinition, 'direction' | 'range' | 'categories'> => ({
  ...(direction === null ? { direction } : {}),
  ...(range === null ? { range } : {}),
  ...(categories === null ? { categories } : {}),
});

/** The id of what a version generated: the interface gives it one of its own beside the version's. */
export const generatedScorerId = (version: ScorerVersion): string => derivedId('generated scorer', version.id);
