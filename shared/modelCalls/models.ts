import { ServiceError } from '../errors/errors.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import { customFirst, type Integration, usableBy } from '../integrations/integration.ts';
import { type BuiltinModel, builtinModels, findBuiltinModel, spellingsOf, withoutLatest } from '../providers/builtinModels.ts';
import type { CustomModel } from '../providers/custom.ts';
import { findModel, type Match, snapshotOf } from '../providers/findModel.ts';
import { findTokenProvider } from '../providers/index.ts';
import { chat } from '../providers/modelFamily.ts';
import type { ModelParameters } from '../providers/parameters.ts';
import type { Deployment } from '../providers/provider.ts';
import type { Modality } from '../wire/integrations.ts';

/** A model that can be called through an integration. */
export interface CallableModel extends ModelParameters {
  /** Name in run settings. */
  alias: string;
  /** Name at the endpoint. */
  name: string;
  /** Other names. */
  otherNames: readonly string[];
  /** The built-in model that it is, or is based on. */
  builtin: string | null;
  modalities: readonly Modality[];
}

export interface ResolvedModel {
  integration: Integration;
  model: CallableModel;
}

const listedModels = new WeakMap<Integration, CallableModel[]>();

/** The models an integration names, in its order. Empty for a custom endpoint that takes any name. */
export function modelsOf(integration: Integration): CallableModel[] {
  const models = listedModels.get(integration) ?? listModels(integration);
  listedModels.set(integration, models);
  return models;
}

function listModels(integration: Integration): CallableModel[] {
  if (integration.provider !== 'custom') {
    const { name: own, hosting, hasModels } = findTokenProvider(integration.provider);
    if (hasModels?.(integration.config) === false) return [];
    const deployments = hosting?.deployments(integration.config) ?? [];
    if (deployments.length > 0) return deployments.map(deployed);
    return builtinModels.filter((model) => model.provider === (hosting?.modelsOf ?? own)).map(builtin);
  }
  const listed = (integration.config.models ?? []).map(toCallable);
  const byDefault = integration.config.defaultModel;
  return byDefault === null || oneOf(matching(listed, byDefault)) ? listed : [...listed, unlisted(byDefault)];
}

/** True when the models of an integration are only those that may be there: a host of models lists none. */
function isGuessed({ provider, config }: Integration): boolean {
  const hosting = provider === 'custom' ? undefined : findTokenProvider(provider).hosting;
  return hosting !== undefined && hosting.deployments(config).length === 0;
}

/** The model an integration uses when a call names none: its default, or else the first. */
export function defaultModelOf(integration: Integration): CallableModel | undefined {
  const models = modelsOf(integration);
  const byDefault = integration.provider === 'custom' ? integration.config.defaultModel : null;
  return byDefault === null ? models[0] : oneOf(matching(models, byDefault));
}

const builtin = ({ name, otherNames, parameters, modalities }: BuiltinModel): CallableModel => ({
  ...{ alias: name, name, otherNames, builtin: name, parameters, parametersAreListed: false, modalities },
});

/** A snapshot of a model that a provider is known to have is asked for under its own name: it answers otherwise than the newest one. */
function snapshotAt(integration: Integration, wanted: string): CallableModel | undefined {
  const snapshot = snapshotOf(wanted);
  if (!snapshot || integration.provider === 'custom' || findTokenProvider(integration.provider).hosting) return undefined;
  const model = oneOf(matching(modelsOf(integration), snapshot.model));
  if (!model || snapshot.version === 'latest') return model;
  // `claude-sonnet-4-0` has the snapshot `claude-sonnet-4-20250514`.
  const base = namesOf(model).includes(snapshot.model) ? snapshot.model : withoutLatest(model.name);
  const name = `${base}-${snapshot.version}`;
  return { ...model, alias: name, name, otherNames: [] };
}

/** A model of another maker that a provider has as well, by any of its names, or a snapshot of it. What is only the newest there has another name. */
function guestAt({ provider }: Integration, wanted: string): CallableModel | undefined {
  const maker = provider === 'custom' ? undefined : findTokenProvider(provider).alsoHosts;
  const guest = findBuiltinModel(wanted);
  if (maker === undefined || guest?.provider !== maker || guest.name.endsWith('-latest')) return undefined;
  const version = snapshotOf(wanted)?.version ?? 'latest';
  return unlisted(version === 'latest' ? guest.name : `${guest.name}-${version}`);
}

const deployed = ({ alias, model, deployment }: Deployment): CallableModel =>
  toCallable({ name: deployment, alias, basedOn: model, supportedParameters: null });

function toCallable({ name, alias, basedOn, supportedParameters }: CustomModel): CallableModel {
  const base = builtinLike(basedOn ?? name);
  const listed = supportedParameters?.map((parameter) => [parameter, parameter === 'stop_sequences' ? 'stop' : parameter]);
  return {
    alias: alias ?? name,
    name,
    otherNames: [],
    builtin: base?.name ?? null,
    parameters: listed ? Object.fromEntries(listed) : (base?.parameters ?? chat),
    parametersAreListed: listed !== undefined,
    modalities: base?.modalities ?? ['text'],
  };
}

const unlisted = (name: string): CallableModel => toCallable({ name, alias: null, basedOn: null, supportedParameters: null });

/** A gateway has the provider before the name of the model, `openai/gpt-5-mini`; profiles of AWS Bedrock have the area that they use, `eu.amazon.nova-pro-v1:0`. */
function builtinLike(name: string): BuiltinModel | undefined {
  const last = name.slice(name.lastIndexOf('/') + 1);
  const bare = last.replace(/^(?:global|us|us-gov|eu|apac|jp|au|ca)\./, '');
  return (
    findBuiltinModel(name) ??
    (last === name ? undefined : findBuiltinModel(last)) ??
    (/^[a-z]+\./.test(bare) ? (findBuiltinModel(bare) ?? findBuiltinModel(`global.${bare}`)) : undefined)
  );
}

const namesOf = ({ alias, name, otherNames }: CallableModel): string[] => [alias, ...spellingsOf(name), ...otherNames];

const matching = (models: readonly CallableModel[], wanted: string): Match<CallableModel> => findModel(models, wanted, namesOf);

const oneOf = <M>(match: Match<M>): M | undefined => (match && 'model' in match ? match.model : undefined);

/** Returns what a model of the integration is called, by any of its names; a name that it does not list alone. */
export function spelledAs(integration: Integration, wanted: string): string[] {
  const model = oneOf(matching(modelsOf(integration), wanted));
  return model ? [wanted, ...namesOf(model)] : [wanted];
}

/** True when names beyond the listed ones may be asked for: a provider's own service, or an endpoint without a list. */
const takesAnyName = (integration: Integration): boolean =>
  integration.provider !== 'custom' || (integration.config.models === null && integration.config.defaultModel === null);

/**
 * Finds the model that run settings name, among `integrations` or in the one named `integrationName`. Aliases come before names, custom
 * integrations before built-in ones, older before newer, models that are only guessed last; all of these before a name that is only spelled alike, which must leave no doubt.
 * `integration/model` names both. The name of an integration alone means its default model, as does no alias at all.
 * @throws ServiceError `IntegrationNotFound`, `ModelUnknown` (naming the closest)
 */
export function resolveModel(
  integrations: readonly Integration[],
  modelAlias: string | null | undefined,
  integrationName?: string | null,
): ResolvedModel {
  const ordered = customFirst(integrations).sort((a, b) => Number(isGuessed(a)) - Number(isGuessed(b)));
  if (integrationName) {
    const integration = ordered.find((one) => one.name === integrationName);
    if (!integration)
      throw new ServiceError(
        'IntegrationNotFound',
        `no integration "${integrationName}"; known are ${list(ordered.map((one) => one.name))}`,
      );
    const model = modelAlias ? findIn(integration, modelAlias) : defaultModelOf(integration);
    if (model) return { integration, model };
    throw unknownModel(modelAlias, [integration]);
  }
  const found = modelAlias ? findAnywhere(ordered, modelAlias) : firstDefault(ordered);
  if (found) return found;
  throw unknownModel(modelAlias, ordered);
}

/**
 * The same for a call on behalf of a user, who may have chosen an integration, or use none of a provider.
 * @throws ServiceError as {@link resolveModel}; `ModelUnknown` also for a model of an integration that the user has disabled
 */
export function resolveModelFor(
  userId: string | null | undefined,
  integrations: readonly Integration[],
  modelAlias: string | null | undefined,
  integrationName?: string | null,
): ResolvedModel {
  const usable = usableBy(integrations, userId);
  try {
    return resolveModel(usable, modelAlias, integrationName);
  } catch (err) {
    const disabled = usable.length < integrations.length && whereFound(integrations, modelAlias, integrationName);
    if (!disabled) throw err;
    throw new ServiceError(
      'ModelUnknown',
      `the integration "${disabled.name}" has this model, but the user of the call has disabled it: POST /v2/integrations/select takes that back`,
      { named: { texts: modelAlias ? [modelAlias] : [] }, cause: err },
    );
  }
}

function whereFound(...asked: Parameters<typeof resolveModel>): Integration | undefined {
  try {
    return resolveModel(...asked).integration;
  } catch {
    return undefined;
  }
}

function findIn(integration: Integration, wanted: string): CallableModel | undefined {
  const match = matching(modelsOf(integration), wanted);
  if (match && 'model' in match && match.isExact) return match.model;
  if (wanted === integration.name) return defaultModelOf(integration);
  if (match) return unambiguous(match, wanted, (model) => `${model.alias} (${integration.name})`);
  const other = snapshotAt(integration, wanted) ?? guestAt(integration, wanted);
  if (other || !takesAnyName(integration)) return other;
  const isHost = integration.provider !== 'custom' && findTokenProvider(integration.provider).hosting;
  return isHost ? deployed({ alias: wanted, model: wanted, deployment: wanted }) : unlisted(wanted);
}

function findAnywhere(integrations: readonly Integration[], wanted: string): ResolvedModel | undefined {
  const models = integrations.flatMap((integration) => modelsOf(integration).map((model) => ({ integration, model })));
  const match = findModel(models, wanted, ({ model }) => namesOf(model));
  if (match && 'model' in match && match.isExact) return match.model;
  for (const integration of integrations) {
    const rest = wanted.startsWith(`${integration.name}/`) ? wanted.slice(integration.name.length + 1) : undefined;
    const model = wanted === integration.name ? defaultModelOf(integration) : rest && findIn(integration, rest);
    if (model) return { integration, model };
  }
  if (match) return unambiguous(match, wanted, ({ integration, model }) => `${model.alias} (${integration.name})`);
  const slash = wanted.indexOf('/');
  const gateway = findModel(integrations, slash < 0 ? wanted : wanted.slice(0, slash), ({ name }) => [name]);
  if (gateway && 'model' in gateway && !gateway.isExact) {
    const integration = gateway.model;
    const model = slash < 0 ? defaultModelOf(integration) : findIn(integration, wanted.slice(slash + 1));
    if (model) return { integration, model };
  }
  for (const integration of integrations) {
    const model = snapshotAt(integration, wanted);
    if (model) return { integration, model };
  }
  for (const integration of integrations) {
    const model = guestAt(integration, wanted);
    if (model) return { integration, model };
  }
  // One endpoint that takes any name leaves no doubt about who is meant.
  const open = integrations.filter((one) => one.provider === 'custom' && takesAnyName(one));
  return open.length === 1 ? { integration: open[0] as Integration, model: unlisted(wanted) } : undefined;
}

function unambiguous<M>(match: NonNullable<Match<M>>, wanted: string, label: (model: M) => string): M {
  if ('model' in match) return match.model;
  throw new ServiceError(
    'ModelUnknown',
    `"${wanted}" may mean any of ${list(match.ambiguous.map(label))}: spell one of them as it is`,
    { named: { texts: [wanted] } },
  );
}

/** Returns what names a model for good, whatever other integrations list. */
export const nameOfModel = ({ integration, model }: ResolvedModel): string => `${integration.name}/${model.alias}`;

/** Returns the name by which a model's price is looked up. Deployments have names of the user's choice, so the model decides about their price. */
export const pricedName = ({ integration, model }: ResolvedModel): { model: string; integrationId: string } => ({
  model: integration.provider === 'custom' ? model.name : model.alias,
  integrationId: integration.id,
});

/** The model that an integration names as its default. */
export function statedDefault(integration: Integration): ResolvedModel | undefined {
  const { provider, config } = integration;
  const isStated =
    provider === 'custom' ? config.defaultModel !== null : findTokenProvider(provider).hosting?.statesDefault(config) === true;
  return isStated ? firstDefault([integration]) : undefined;
}

function firstDefault(integrations: readonly Integration[]): ResolvedModel | undefined {
  for (const integration of integrations) {
    const model = defaultModelOf(integration);
    if (model) return { integration, model };
  }
  return undefined;
}

function unknownModel(alias: string | null | undefined, integrations: readonly Integration[]): ServiceError {
  const known = integrations.flatMap((one) =>
    modelsOf(one).map((model) => ({
      label: `${model.alias} (${one.name})`,
      names: namesOf(model).flatMap((name) => [name, `${one.name}/${name}`]),
    })),
  );
  const what = alias ? `no model "${alias}" in any integration` : 'no model is named, and no integration has a default one';
  const near = alias
    ? closestNames(
        alias,
        known.flatMap(({ names }) => names),
        MAX_CLOSEST,
      )
    : [];
  const closest = [...new Set(near.flatMap((name) => known.filter(({ names }) => names.includes(name))))];
  const named = { texts: alias ? [alias] : [] };
  if (integrations.length === 0)
    return new ServiceError('ModelUnknown', `${what}: no integration is configured yet (PUT /v2/integrations/custom/{name})`, {
      named,
    });
  return new ServiceError('ModelUnknown', `${what}; closest are ${list(closest.map(({ label }) => label))}`, { named });
}

const MAX_CLOSEST = 5;
const MAX_NAMED = 50;
const list = (names: readonly string[]): string =>
  names.length === 0
    ? 'none'
    : `${names.slice(0, MAX_NAMED).join(', ')}${names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''}`;
