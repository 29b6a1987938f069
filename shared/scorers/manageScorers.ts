import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { foldCase } from '../identifiers/foldCase.ts';
import { newId } from '../identifiers/ids.ts';
import type { CreateScorerRequest, ScorerType, UpdateScorerRequest } from '../wire/scorers.ts';
import { mustBeComputable } from './checks/checkAsMetric.ts';
import { builtinByName, presetById } from './presets.ts';
import { namesAndIds, requiredMetrics } from './requiredMetrics.ts';
import type { ScorerLookup } from './resolveMetrics.ts';
import type { Scorer, ScorerDefinition, ScorerStore } from './scorer.ts';
import { mustKnowPlaceholders } from './scorerAsMetric.ts';
import { mustSuitScale, outputTypeOf } from './scorerScale.ts';
import { usableScorers } from './usableScorers.ts';

/**
 * Stores a scorer: of its projects, or of the organization without any. It computes nothing until it has a version.
 * @param seen the scorers that its author sees
 * @throws ServiceError `Conflict` when one of those, or a built-in metric, has the name.
 */
export async function createScorer(
  store: ScorerStore,
  seen: ScorerLookup,
  input: CreateScorerRequest,
  createdBy: string,
): Promise<Scorer> {
  if (input.scorer_type === 'preset')
    throw new RequestInvalid([
      { loc: ['body', 'scorer_type'], msg: 'preset scorers are built in; make one of type llm', type: 'scorer_type' },
    ]);
  refuseBuiltinName(input.name);
  mustSuitScale(input, input.output_type ?? input.defaults?.output_type ?? undefined);
  await mustSuitType(input.scorer_type, input);
  const { id: own, name, scorer_type, project_ids, default_version_id: _none, ...settings } = input;
  const id = own ?? newId();
  const required = namesAndIds(
    input.check ? [] : await requiredMetrics(usableScorers(seen, input.is_global ? [] : project_ids), input, { id, name }),
  );
  checkPrompt(scorer_type, { ...input, ...required });
  const scorer = {
    id,
    name,
    scorerType: scorer_type,
    definition: { ...(input.check ? checkDefaults : {}), ...present(settings), ...required },
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
  checkPrompt(scorer.scorerType, { ...scorer.definition, ...settings });
  await mustSuitType(scorer.scorerType, settings);
  const definition = { ...present(settings), ...takenBack(settings) };
  mustSuitScale(definition, settings.output_type ?? outputTypeOf(scorer));
  const change = { name: name ?? undefined, defaultVersionId: default_version_id ?? undefined, definition };
  if (!(await store.update(id, change))) throw nameTaken(name ?? scorer.name);
  return getScorer(store, id);
}

/**
 * Replaces who sees and uses a scorer: the organization, or these projects alone. Runs that use it go on.
 * @throws ServiceError `NotFound`, `Forbidden` for a built-in, `Conflict` when another scorer there has its name
 */
export async function setScope(
  store: ScorerStore,
  id: string,
  scope: { organization: boolean; projectIds: string[] },
): Promise<Scorer> {
  const scorer = await getOwnScorer(store, id);
  if (!(await store.setScope(id, scope))) throw nameTaken(scorer.name);
  return getScorer(store, id);
}

/** Takes a scorer out of every list; runs that used it keep their values. @throws ServiceError `NotFound`, `Forbidden` for a built-in. */
export async function deleteScorer(store: ScorerStore, id: string): Promise<Scorer> {
  const scorer = await getOwnScorer(store, id);
  if (!(await store.delete(id))) throw notFound(id);
  return scorer;
}

/** @throws ServiceError `NotFound`, `Forbidden` for a built-in */
export async function getOwnScorer(store: ScorerStore, id: string): Promise<Scorer> {
  const scorer = await getScorer(store, id);
  if (scorer.scorerType === 'preset')
    throw new ServiceError('Forbidden', `${JSON.stringify(scorer.name)} is built in and cannot be changed or deleted`);
  return scorer;
}

/** Other types than judges may have placeholders of their own. @throws RequestInvalid for unknown placeholders */
function checkPrompt(
  type: ScorerType,
  { user_prompt, required_scorers }: Pick<CreateScorerRequest, 'user_prompt' | 'required_scorers'>,
): void {
  if (type === 'llm' && user_prompt) mustKnowPlaceholders(user_prompt, ['body', 'user_prompt'], required_scorers ?? []);
}

/** The fields of a scorer with a check that its author leaves out. */
const checkDefaults = { output_type: 'boolean', model_type: 'code', direction: 'higher' } as const satisfies ScorerDefinition;

/** @throws RequestInvalid for a check of another scorer than one of code, and for one that cannot be computed. */
async function mustSuitType(
  type: ScorerType,
  { check, output_type }: Pick<CreateScorerRequest, 'check' | 'output_type'>,
): Promise<void> {
  if (!check) return;
  if (type !== 'code') {
    const msg = `a scorer of type ${type} has no check: make one of type code`;
    throw new RequestInvalid([{ loc: ['body', 'check'], msg, type: 'check' }]);
  }
  if (output_type && output_type !== 'boolean') {
    const msg = `a check is true or false: its output_type is boolean, not ${output_type}`;
    throw new RequestInvalid([{ loc: ['body', 'output_type'], msg, type: 'check' }]);
  }
  await mustBeComputable(check);
}

function refuseBuiltinName(name: string): void {
  if (builtinByName(name))
    throw new ServiceError('Conflict', `${JSON.stringify(name)} is the name of a built-in metric: choose another`);
}

async function refuseTakenName(seen: Pick<ScorerStore, 'list'>, name: string, id: string): Promise<void> {
  const isTaken = (await seen.list()).some((other) => other.id !== id && foldCase(other.name) === foldCase(name));
  if (isTaken) throw nameTaken(name);
}

export const notFound = (id: string) => new ServiceError('NotFound', `no scorer has the id ${id}`);
const nameTaken = (name: string) =>
  new ServiceError('Conflict', `a scorer called ${JSON.stringify(name)} exists already (names are compared without case)`);

/** Returns the members that are neither null nor absent. */
const present = (settings: object): ScorerDefinition =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null && value !== undefined));

/** Keeps the nulls of a change: a null takes back the direction, the range or the categories of a scorer. */
const takenBack = ({
  direction,
  range,
  categories,
}: UpdateScorerRequest): Pick<ScorerDefinition, 'direction' | 'range' | 'categories'> => ({
  ...(direction === null ? { direction } : {}),
  ...(range === null ? { range } : {}),
  ...(categories === null ? { categories } : {}),
});
