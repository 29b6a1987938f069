import { onlyOne } from '../assets/onlyOne.ts';
import { RequestInvalid } from '../errors/errors.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import { foldCase } from '../identifiers/foldCase.ts';
import { builtinMetrics } from '../metrics/index.ts';
import type { Metric } from '../metrics/metric.ts';
import { withJudges } from '../metrics/scoreRecord.ts';
import { Uuid } from '../wire/common.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { NamedScorerConfig, ScorerConfig } from '../wire/scorers.ts';
import { checkAsMetric } from './checks/checkAsMetric.ts';
import { codeMetric } from './codeMetric.ts';
import { modelTypeOf } from './modelType.ts';
import { builtinById, builtinByName, builtinByOtherName } from './presets.ts';
import type { JudgeDefinition, Scorer, ScorerStore, ScorerVersion } from './scorer.ts';
import { scorerAsMetric, suitedRollUp } from './scorerAsMetric.ts';

/** A metric as a run uses it: `kinds`, `rollUp` and the number of judges are those of the run's settings. */
export interface EnabledMetric extends Metric {
  scorerId: string;
  /** The judge's model where the settings, the version or the scorer name one. */
  judgeModel: string | null;
  /** The models of several judges in turn, in place of that one. */
  judgeModels?: readonly string[];
  /** The judge is the model whose answers it judges; known of a frozen metric. */
  isJudgedByModelUnderTest?: boolean;
  /** Filters of the run's records beside `kinds`; a record is scored where all hold. */
  filters: NonNullable<ScorerConfig['filters']>;
  /** The setting to store and to give back. */
  config: ScorerConfig;
  /** The user's scorer that it is made of, and the version of it, null of a check; absent for a built-in metric. */
  definedBy?: { scorer: DefiningScorer; version: ScorerVersion | null };
  /** Identifies what it computes, and is stored with its values; absent where it is not frozen. */
  version?: string;
  /** Metrics whose values of the same record are computed before it. */
  requires?: readonly RequiredMetric[];
}

/** A metric whose value another one gets, and the name by which it asks for it. */
export interface RequiredMetric {
  name: string;
  metric: EnabledMetric;
}

/** Returns true where the metric itself, or one that it requires, asks a judge. */
export const asksJudges = ({ needs, requires = [] }: Pick<EnabledMetric, 'needs' | 'requires'>): boolean =>
  needs === 'judge' || requires.some(({ metric }) => asksJudges(metric));

/** These metrics and those that they require, at any depth, each scorer once. */
export function withAllRequired(metrics: readonly EnabledMetric[]): EnabledMetric[] {
  const all = metrics.flatMap((metric) => [
    metric,
    ...withAllRequired((metric.requires ?? []).map((required) => required.metric)),
  ]);
  return [...new Map(all.toReversed().map((metric) => [metric.scorerId, metric])).values()].reverse();
}

/** The metric with those that it requires. */
export function withRequired(metric: EnabledMetric, requires: readonly RequiredMetric[]): EnabledMetric {
  if (requires.length === 0) return metric;
  const any = (has: (one: Metric) => boolean | undefined) => [metric, ...requires.map((one) => one.metric)].some(has);
  return {
    ...metric,
    requires,
    // The metrics that it requires score the same record, which is read once for all of them.
    ...(any(({ readsSpans }) => readsSpans) ? { readsSpans: true as const } : {}),
    ...(any(({ readsRow }) => readsRow) ? { readsRow: true as const } : {}),
  };
}

type DefiningScorer = Pick<Scorer, 'id' | 'name' | 'scorerType' | 'definition'>;

/** The reads of the store that resolving needs. */
export interface ScorerLookup extends Pick<ScorerStore, 'list' | 'findEver' | 'findVersionById'> {
  /** Says why a request may not use this scorer, which it names or that `named` requires; absent where it may use each. */
  refusal?(scorer: Scorer, named?: Pick<Scorer, 'id'>): string | undefined;
}

/** A scorer by label, name or id, alone or with settings, or by its id. */
export type ScorerReference = string | NamedScorerConfig | ScorerConfig;

const nameIn = (one: ScorerReference): string | undefined =>
  typeof one === 'string' ? one : one.scorer_type ? undefined : (one.name as string);

/**
 * The metrics that a request names: built-ins by label, wire name, key, older name or id, scorers that users defined by label, name or id, in the order given,
 * each once (the last setting counts).
 * @throws ServiceError `Conflict` for a name of several scorers; RequestInvalid naming each metric that is unknown, with the names nearest to it, or that cannot be computed.
 */
export async function resolveMetrics(
  store: ScorerLookup,
  requested: readonly ScorerReference[],
  at: (string | number)[] = ['body', 'scorers'],
  ofRun: readonly ScorerConfig[] = [],
): Promise<EnabledMetric[]> {
  const { metrics, refused } = await resolvableMetrics(store, requested, ofRun);
  if (refused.length > 0) throw asInvalid(refused, at);
  return metrics;
}

export const asInvalid = (refused: readonly RefusedMetric[], at: (string | number)[]): RequestInvalid =>
  new RequestInvalid(
    refused.map(({ index, named, problem }) => ({ loc: [...at, index], msg: problem, type: 'metric_unknown', input: named })),
  );

/** A metric of a request that cannot be computed, and why. */
export interface RefusedMetric {
  index: number;
  /** As the request names it: by its name, or by the id alone. */
  named: string;
  problem: string;
}

/**
 * As {@link resolveMetrics}, with what is wrong beside what is right.
 * @param ofRun further settings of the run: by them what a metric requires is computed where it is not requested itself
 * @throws ServiceError `Conflict` for a name of several scorers
 */
export async function resolvableMetrics(
  store: ScorerLookup,
  requested: readonly ScorerReference[],
  ofRun: readonly ScorerConfig[] = [],
): Promise<{ metrics: EnabledMetric[]; refused: RefusedMetric[] }> {
  const names = requested.flatMap((one) => nameIn(one) ?? []);
  const own = names.some((name) => !builtinByName(name)) ? await store.list() : [];
  const ids = requested.flatMap((one) => (typeof one === 'string' || !one.scorer_type || builtinById(one.id) ? [] : [one.id]));
  const wanted = new Map([...own, ...(ids.length > 0 ? await store.findEver(ids) : [])].map((scorer) => [scorer.id, scorer]));
  const refused: RefusedMetric[] = [];
  const resolved = new Map<string, { index: number; metric: EnabledMetric }>();
  const refuse = (index: number, problem: string) => {
    const one = requested[index] as ScorerReference;
    refused.push({ index, named: nameIn(one) ?? (one as ScorerConfig).name ?? (one as ScorerConfig).id, problem });
  };
  for (const [index, one] of requested.entries()) {
    const found =
      typeof one === 'string' || !one.scorer_type
        ? await byName(store, typeof one === 'string' ? { name: one } : one, own)
        : await byConfig(store, one, wanted.get(one.id));
    const scorer = 'problem' in found ? undefined : wanted.get(found.scorerId);
    const refusal = scorer && store.refusal?.(scorer);
    if ('problem' in found) refuse(index, found.problem);
    else if (refusal) refuse(index, refusal);
    else resolved.set(found.scorerId, { index, metric: found });
  }
  const configs = new Map([...ofRun, ...[...resolved.values()].map(({ metric }) => metric.config)].map((one) => [one.id, one]));
  const metrics: EnabledMetric[] = [];
  for (const { index, metric } of resolved.values()) {
    const found = await requiring(store, metric, configs, metric);
    if ('problem' in found) refuse(index, found.problem);
    else metrics.push(found);
  }
  return { metrics, refused };
}

type Found = EnabledMetric | { problem: string };

async function byName(store: ScorerLookup, given: NamedScorerConfig, own: readonly Scorer[]): Promise<Found> {
  const {
    name,
    model_name,
    model_names,
    num_judges,
    scoreable_node_types,
    cot_enabled,
    output_type,
    input_type,
    filters,
    roll_up_method,
  } = given;
  const settings = {
    model_name,
    model_names,
    num_judges,
    scoreable_node_types,
    cot_enabled,
    output_type,
    input_type,
    filters,
    roll_up_method,
  };
  const ofBuiltin = ({ scorerId }: { scorerId: string }) =>
    byConfig(store, { ...settings, id: scorerId, scorer_type: 'preset' }, undefined);
  const builtin = builtinByName(name);
  if (builtin) return ofBuiltin(builtin);
  const key = foldCase(name.trim());
  const named = own.filter((one) => foldCase(one.name) === key);
  const usable = named.filter((one) => !store.refusal?.(one));
  const scorer =
    onlyOne('scorer', name, usable.length > 0 ? usable : named) ??
    own.find((one) => [one.id, foldCase(one.definition.label ?? '')].includes(key));
  const older = scorer ? undefined : builtinByOtherName(name);
  if (older) return ofBuiltin(older);
  if (!scorer) return { problem: `no metric is called ${JSON.stringify(name)}; nearest: ${nearest(name, own)}` };
  return byConfig(store, { ...settings, id: scorer.id, scorer_type: scorer.scorerType }, scorer);
}

async function byConfig(store: ScorerLookup, config: ScorerConfig, scorer: Scorer | undefined): Promise<Found> {
  const builtin = builtinById(config.id);
  if (builtin) {
    const settings = withVersionSettings(config);
    return enabled(withJudges(builtin, judgesOf(settings) ?? 1), settings, 'preset', {});
  }
  if (!scorer) return { problem: `no scorer has the id ${config.id}${config.name ? ` (${JSON.stringify(config.name)})` : ''}` };
  if (!config.scorer_version) return fromScorer(scorer, scorer.defaultVersion, config);
  const version = await store.findVersionById(config.scorer_version.id);
  if (version?.scorerId !== scorer.id)
    return { problem: `the scorer ${JSON.stringify(scorer.name)} has no version with the id ${config.scorer_version.id}` };
  return fromScorer(scorer, version, config);
}

/** The scorers that one requires, by the names that it has for them. */
export function requirementsOf({ definition }: Pick<Scorer, 'definition'>): { id: string; name: string }[] {
  const { check, required_scorers: names = [], required_metric_ids: ids = [] } = definition;
  // Scorers of former releases have what their authors wrote, which nothing was computed by.
  if (check || ids.length !== names.length || !ids.every((id) => Uuid.safeParse(id).success)) return [];
  return ids.map((id, index) => ({ id, name: names[index] as string }));
}

/**
 * The metric with those that its scorer requires, as they are now.
 * @param configs how the run computes metrics, by the ids of their scorers
 * @param named the metric that the request names
 * @param above the ids of the scorers that require this one
 */
async function requiring(
  store: ScorerLookup,
  metric: EnabledMetric,
  configs: ReadonlyMap<string, ScorerConfig>,
  named: EnabledMetric,
  above: readonly string[] = [],
): Promise<Found> {
  const { scorer, version } = metric.definedBy ?? {};
  if (!scorer || !version) return metric;
  if (above.includes(scorer.id)) return { problem: 'it requires itself' };
  const required = requirementsOf(scorer);
  if (required.length === 0) return metric;
  const scorers = new Map((await store.findEver(required.map(({ id }) => id))).map((one) => [one.id, one]));
  const requires: RequiredMetric[] = [];
  for (const { id, name } of required) {
    const one = scorers.get(id);
    const refusal = one && store.refusal?.(one, { id: named.scorerId });
    const found = refusal ? { problem: refusal } : await byConfig(store, configs.get(id) ?? { id, scorer_type: 'preset' }, one);
    const whole = 'problem' in found ? found : await requiring(store, found, configs, named, [...above, scorer.id]);
    if ('problem' in whole)
      return { problem: `${JSON.stringify(scorer.name)} requires ${JSON.stringify(name)}: ${whole.problem}` };
    requires.push({ name, metric: whole });
  }
  return withRequired(metric, requires);
}

/** The setting of a built-in metric with what it leaves out taken from the version that it names. */
function withVersionSettings(config: ScorerConfig): ScorerConfig {
  const { scorer_version: version } = config;
  if (!version) return config;
  const namesModel = config.model_name || config.model_names;
  return {
    ...config,
    model_name: namesModel ? config.model_name : version.model_name,
    model_names: namesModel ? config.model_names : version.model_names,
    num_judges: config.num_judges ?? version.num_judges,
    cot_enabled: config.cot_enabled ?? version.cot_enabled,
    scoreable_node_types: config.scoreable_node_types?.length ? config.scoreable_node_types : version.scoreable_node_types,
  };
}

/** How many judges a setting asks for: where it names models alone, each of them. */
export const judgesOf = ({ num_judges, model_names }: Pick<ScorerConfig, 'num_judges' | 'model_names'>): number | undefined =>
  num_judges ?? model_names?.length;

export function fromScorer(scorer: DefiningScorer, version: Scorer['defaultVersion'], config: ScorerConfig): Found {
  const { check } = scorer.definition;
  if (check) {
    // The model of a check is no judge: what a setting says of those does not concern it.
    const { model_name: _, model_names: __, num_judges: ___, ...ofCheck } = config;
    const modelName = check.type === 'embedding_similarity' ? check.model : null;
    const metric = enabled(checkAsMetric(scorer, check), ofCheck, scorer.scorerType, { modelName });
    return { ...metric, definedBy: { scorer, version: null } };
  }
  if (!version)
    return { problem: `the scorer ${JSON.stringify(scorer.name)} has no version yet: nothing says how to compute it` };
  const ofVersion = version.definition;
  if ('code' in ofVersion)
    return { ...enabled(codeMetric(scorer, ofVersion), config, scorer.scorerType, {}), definedBy: { scorer, version } };
  const definition: JudgeDefinition = {
    ...ofVersion,
    numJudges: judgesOf(config) ?? ofVersion.numJudges,
    explain: config.cot_enabled ?? ofVersion.explain,
    inputType: config.input_type ?? ofVersion.inputType,
    nodeTypes: config.scoreable_node_types?.length ? config.scoreable_node_types.map(recordKind) : ofVersion.nodeTypes,
  };
  const metric = enabled(scorerAsMetric(scorer, definition), config, scorer.scorerType, ofVersion);
  return { ...metric, definedBy: { scorer, version } };
}

export function enabled(
  metric: Metric,
  config: ScorerConfig,
  scorerType: ScorerConfig['scorer_type'],
  { modelName = null, modelNames = null }: Partial<Pick<JudgeDefinition, 'modelName' | 'modelNames'>>,
): EnabledMetric {
  const several = config.model_names ?? (config.model_name ? null : modelNames);
  const kinds = config.scoreable_node_types?.length
    ? (config.scoreable_node_types.map(recordKind) as RecordKind[])
    : metric.kinds;
  const rollUp = suitedRollUp(config.roll_up_method, metric.rollUp);
  return {
    ...metric,
    kinds,
    rollUp,
    scorerId: config.id,
    judgeModel: several ? null : (config.model_name ?? modelName),
    ...(several && metric.needs === 'judge' ? { judgeModels: several } : {}),
    filters: config.filters ?? [],
    config: {
      ...config,
      name: metric.alias ?? metric.name,
      scorer_type: scorerType,
      model_type: modelTypeOf(metric),
      ...(metric.multimodal ? { multimodal_capabilities: [metric.multimodal] } : {}),
      output_type: metric.outputType,
      scoreable_node_types: [...kinds],
      roll_up_method: rollUp,
    },
  };
}

/** Older clients call llm spans `chat` and workflow spans `chain`. */
export const recordKind = (nodeType: string): string =>
  nodeType === 'chat' ? 'llm' : nodeType === 'chain' ? 'workflow' : nodeType;

const nearest = (name: string, own: readonly Scorer[]): string =>
  closestNames(name, [
    ...builtinMetrics.flatMap((metric) => [metric.name, metric.label]),
    ...own.map((scorer) => scorer.name),
  ]).join(', ');
