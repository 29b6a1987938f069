import { RequestInvalid } from '../errors/errors.ts';
import { derivedId } from '../identifiers/ids.ts';
import { parseJson } from '../json/parseJson.ts';
import { withJudges } from '../metrics/scoreRecord.ts';
import type { ScorerConfig } from '../wire/scorers.ts';
import type { Judge } from './judge.ts';
import { builtinById } from './presets.ts';
import { type EnabledMetric, enabled, fromScorer, judgesOf, withRequired } from './resolveMetrics.ts';
import type { Scorer, ScorerVersion } from './scorer.ts';

/** The definition of a metric as text. It outlives every change of its scorer and of the run's settings. */
export interface FrozenMetric {
  /** The same for metrics that compute the same: by the same version of the scorer, with the same judges. */
  version: string;
  scorerId: string;
  definition: string;
}

interface Definition {
  config: ScorerConfig;
  judgeModel: string | null;
  judgeModels?: readonly string[];
  isJudgedByModelUnderTest?: boolean;
  /** Absent for a built-in metric. */
  scorer?: Pick<Scorer, 'id' | 'name' | 'scorerType' | 'definition'>;
  /** Absent of a check too. */
  version?: Omit<ScorerVersion, 'createdAt'>;
  /** The metrics that it requires, by the names that it has for them; absent without any. */
  requires?: readonly { name: string; frozen: FrozenMetric }[];
}

/** @param requires those that it requires, frozen, in their order */
export function freezeMetric(
  metric: EnabledMetric,
  { model: judgeModel, models: judgeModels, isModelUnderTest }: Judge,
  requires: readonly FrozenMetric[] = [],
): FrozenMetric {
  const { config, scorerId, definedBy } = metric;
  const judged = metric.needs === 'judge';
  const definition: Definition = {
    config,
    judgeModel: judged ? judgeModel : null,
    ...(judgeModels ? { judgeModels } : {}),
    isJudgedByModelUnderTest: isModelUnderTest,
    ...(metric.requires
      ? { requires: metric.requires.map(({ name }, index) => ({ name, frozen: requires[index] as FrozenMetric })) }
      : {}),
  };
  if (definedBy) {
    const { id, name, scorerType, definition: own } = definedBy.scorer;
    const { createdAt: _, ...version } = definedBy.version ?? { createdAt: null };
    const kept = 'id' in version ? { version } : {};
    Object.assign(definition, { scorer: { id, name, scorerType, definition: own }, ...kept } satisfies Partial<Definition>);
  }
  const own = definedBy?.version?.definition;
  const ofVersion = own && !('code' in own) ? own : undefined;
  const check = definedBy?.scorer.definition.check;
  const codeVersion = own && 'code' in own ? definedBy?.version?.id : undefined;
  const computes = [
    definedBy?.version?.id ?? null,
    definedBy?.scorer.definition.ground_truth ?? null,
    judgeModels ? judgeModels.join(', ') : judgeModel,
    judgesOf(config) ?? ofVersion?.numJudges ?? 1,
    config.cot_enabled ?? ofVersion?.explain ?? null,
    // Only where the settings say another than the version, so that the versions of former releases stay.
    ...(ofVersion && config.input_type && config.input_type !== ofVersion.inputType ? [config.input_type] : []),
    ...(requires.length > 0 ? [requires.map((one) => one.version)] : []),
  ];
  const ofCode = ['code', ...(codeVersion ? [codeVersion] : []), ...requires.map((one) => one.version)].join(' ');
  const version = derivedId(
    'version of a metric',
    scorerId,
    check ? JSON.stringify(check) : judged ? JSON.stringify(computes) : ofCode,
  );
  return { version, scorerId, definition: JSON.stringify(definition) };
}

/** The metric as it was frozen. @throws RequestInvalid for a built-in metric that this release does not have */
export function thawMetric({ version, scorerId, definition }: FrozenMetric): EnabledMetric {
  const {
    config,
    judgeModel,
    judgeModels,
    isJudgedByModelUnderTest = false,
    scorer,
    version: ofScorer,
    requires = [],
  } = parseJson(definition) as Definition;
  const builtin = builtinById(scorerId);
  const metric = builtin
    ? enabled(withJudges(builtin, judgesOf(config) ?? 1), config, config.scorer_type, {})
    : scorer && (ofScorer || scorer.definition.check)
      ? fromScorer(scorer, ofScorer ? { ...ofScorer, createdAt: new Date(0) } : null, config)
      : { problem: `no scorer has the id ${scorerId}` };
  if ('problem' in metric)
    throw new RequestInvalid([{ loc: ['body', 'scorer_id'], msg: metric.problem, type: 'metric_unknown' }]);
  const all = withRequired(
    metric,
    requires.map(({ name, frozen }) => ({ name, metric: thawMetric(frozen) })),
  );
  return { ...all, version, judgeModel, ...(judgeModels ? { judgeModels } : {}), isJudgedByModelUnderTest };
}

/** The metrics of one workflow of an experiment. */
export interface RunMetrics {
  number: number;
  metrics: FrozenMetric[];
  /** Microseconds. */
  frozenAt: number;
  /** Microseconds: rows recorded before this were looked at. */
  lookedTo: number;
}

/** Where the definitions that values were made by are kept. They go with their run. */
export interface FrozenMetricStore {
  /** Keeps these definitions; what is kept under a version already is replaced, as its filters may be others now. */
  keep(runId: string, metrics: readonly FrozenMetric[]): Promise<void>;
  find(runId: string, version: string): Promise<FrozenMetric | undefined>;
  /** Returns the definition of each scorer that was kept last. */
  newest(runId: string): Promise<FrozenMetric[]>;
  ofRun(runId: string): Promise<RunMetrics | undefined>;
  /**
   * Freezes the metrics of workflow `number`, unless they are frozen or a newer one has begun.
   * @throws ServiceError `NotFound` when the run was deleted
   */
  freeze(runId: string, number: number, metrics: readonly FrozenMetric[], frozenAt: number): Promise<void>;
  /** Notes that rows recorded before this were looked at for workflow `number`. */
  looked(runId: string, number: number, lookedTo: number): Promise<void>;
}
