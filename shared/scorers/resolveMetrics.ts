import { onlyOne } from '../assets/onlyOne.ts';
import type { RecordKind } from '../columns/columnDef.ts';
import { RequestInvalid } from '../errors/errors.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import { foldCase } from '../identifiers/foldCase.ts';
import { builtinMetrics } from '../metrics/index.ts';
import type { Metric } from '../metrics/metric.ts';
import { withJudges } from '../metrics/scoreRecord.ts';
import type { NamedScorerConfig, ScorerConfig } from '../wire/scorers.ts';
import { builtinById, builtinByName } from './presets.ts';
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
  /** What of the run's records is scored beside `kinds`; all must hold. */
  filters: NonNullable<ScorerConfig['filters']>;
  /** The setting to store and to give back. */
  config: ScorerConfig;
  /** The user's scorer that it is made of, and the version of it; absent for a built-in metric. */
  definedBy?: { scorer: DefiningScorer; version: ScorerVersion };
  /** Stands for what it computes, and is stored with its values; absent where it is not frozen. */
  version?: string;
}

type DefiningScorer = Pick<Scorer, 'id' | 'name' | 'scorerType' | 'definition'>;

/** What resolving needs of the store. */
export type ScorerLookup = Pick<ScorerStore, 'list' | 'findEver' | 'findVersionById'>;

/** A scorer by label, name or id, alone or with settings, or by its id. */
export type ScorerReference = string | NamedScorerConfig | ScorerConfig;

const nameIn = (one: ScorerReference): string | undefined =>
  typeof one === 'string' ? one : one.scorer_type ? undefined : (one.name as string);

/**
 * The metrics that a request names: built-ins by label, wire name or id, scorers that users defined by label, name or id, in the order given,
 * each once (the last setting counts).
 * @throws ServiceError `Conflict` for a name of several scorers; RequestInvalid naming each metric that is unknown, with the names nearest to it, or that cannot be computed.
 */
export async function resolveMetrics(
  store: ScorerLookup,
  requested: readonly ScorerReference[],
  at: (string | number)[] = ['body', 'scorers'],
): Promise<EnabledMetric[]> {
  const { metrics, refused } = await resolvableMetrics(store, requested);
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

/** As {@link resolveMetrics}, with what is wrong beside what is right. @throws ServiceError `Conflict` for a name of several scorers */
export async function resolvableMetrics(
  store: ScorerLookup,
  requested: readonly ScorerReference[],
): Promise<{ metrics: EnabledMetric[]; refused: RefusedMetric[] }> {
  const names = requested.flatMap((one) => nameIn(one) ?? []);
  const own = names.some((name) => !builtinByName(name)) ? await store.list() : [];
  const ids = requested.flatMap((one) => (typeof one === 'string' || !one.scorer_type || builtinById(one.id) ? [] : [one.id]));
  const wanted = new Map([...own, ...(ids.length > 0 ? await store.findEver(ids) : [])].map((scorer) => [scorer.id, scorer]));
  const refused: RefusedMetric[] = [];
  const resolved = new Map<string, EnabledMetric>();
  for (const [index, one] of requested.entries()) {
    const found =
      typeof one === 'string' || !one.scorer_type
        ? await byName(store, typeof one === 'string' ? { name: one } : one, own)
        : await byConfig(store, one, wanted.get(one.id));
    if ('problem' in found)
      refused.push({
        index,
        named: nameIn(one) ?? (one as ScorerConfig).name ?? (one as ScorerConfig).id,
        problem: found.problem,
      });
    else resolved.set(found.scorerId, found);
  }
  return { metrics: [...resolved.values()], refused };
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
  const builtin = builtinByName(name);
  if (builtin) return byConfig(store, { ...settings, id: builtin.scorerId, scorer_type: 'preset' }, undefined);
  const key = foldCase(name.trim());
  const named = own.filter((one) => foldCase(one.name) === key);
  const scorer =
    onlyOne('scorer', name, named) ?? own.find((one) => [one.id, foldCase(one.definition.label ?? '')].includes(key));
  if (!scorer) return { problem: `no metric is called ${JSON.stringify(name)}; nearest: ${nearest(name, own)}` };
  return byConfig(store, { ...settings, id: scorer.id, scorer_type: scorer.scorerType }, scorer);
}

async function byConfig(store: ScorerLookup, config: ScorerConfig, scorer: Scorer | undefined): Promise<Found> {
  const builtin = builtinById(config.id);
  if (builtin) return enabled(withJudges(builtin, judgesOf(config) ?? 1), config, 'preset', {});
  if (!scorer) return { problem: `no scorer has the id ${config.id}${config.name ? ` (${JSON.stringify(config.name)})` : ''}` };
  if (!config.scorer_version) return fromScorer(scorer, scorer.defaultVersion, config);
  const version = await store.findVersionById(config.scorer_version.id);
  if (version?.scorerId !== scorer.id)
    return { problem: `the scorer ${JSON.stringify(scorer.name)} has no version with the id ${config.scorer_version.id}` };
  return fromScorer(scorer, version, config);
}

/** How many judges a setting asks for: where it names models alone, each of them. */
export const judgesOf = ({ num_judges, model_names }: Pick<ScorerConfig, 'num_judges' | 'model_names'>): number | undefined =>
  num_judges ?? model_names?.length;

export function fromScorer(scorer: DefiningScorer, version: Scorer['defaultVersion'], config: ScorerConfig): Found {
  if (!version)
    return { problem: `the scorer ${JSON.stringify(scorer.name)} has no version yet: nothing says how to compute it` };
  const ofVersion = version.definition;
  const definition: JudgeDefinition = {
    ...ofVersion,
    numJudges: judgesOf(config) ?? ofVersion.numJudges,
    explain: config.cot_enabled ?? ofVersion.explain,
    inputType: config.input_type ?? ofVersion.inputType,
    nodeTypes: config.scoreable_node_types?.length ? config.scoreable_node_types.map(recordKind) : ofVersion.nodeTypes,
  };
  const metric = enabled(scorerAsMetric(scorer, { definition }), config, scorer.scorerType, version.definition);
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
      model_type: metric.needs === 'judge' ? 'llm' : 'code',
      output_type: metric.outputType,
      scoreable_node_types: [...kinds],
      roll_up_method: rollUp,
    },
  };
}

/** Older clients call llm spans `chat` and workflow spans `chain`. */
const recordKind = (nodeType: string): string => (nodeType === 'chat' ? 'llm' : nodeType === 'chain' ? 'workflow' : nodeType);

const nearest = (name: string, own: readonly Scorer[]): string =>
  closestNames(name, [
    ...builtinMetrics.flatMap((metric) => [metric.name, metric.label]),
    ...own.map((scorer) => scorer.name),
  ]).join(', ');
