import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { ValueError } from './errors.ts';
import type { GateResult } from './experimentRunResults.ts';
import { nearestOf, refuseUnknownKeys } from './knownKeys.ts';

export const baselinePicks = ['newest', 'approved', 'passed'] as const;
export type BaselinePick = (typeof baselinePicks)[number];

export const isBaselinePick = (word: string | undefined): word is BaselinePick => baselinePicks.some((pick) => pick === word);

/** Limits that an experiment must keep. */
export interface GateLimits {
  /** By name. `maxDrop`: the largest change for the worse against the baseline. */
  metrics?: Record<string, { maxDrop?: number | undefined; min?: number | undefined; max?: number | undefined }> | undefined;
  /** Largest share of failed rows. */
  maxFailed?: number | undefined;
  /** As baseline, the experiment with this tag that ended last. */
  baselineTag?: { key: string; value: string } | undefined;
  /**
   * As baseline, of the earlier runs of the series, or of the experiments with the tag: the one that ended last, the newest that is approved, or the newest
   * that passed its gate.
   */
  baselinePick?: BaselinePick | undefined;
  failedRows?: 'omit' | 'worst' | undefined;
  /** At which all intervals hold together; 0.95 without it. */
  level?: number | undefined;
}

export interface GateExperimentOptions extends OperationOptions, GateLimits {
  experimentId: string;
  baselineId?: string | undefined;
  /** As baseline, the newest run of this name that ended with rows that did not fail: of the own series an earlier one. The whole name of one run: that run. */
  baselineName?: string | undefined;
}

const ofLimits = ['metrics', 'maxFailed', 'baselineTag', 'baselinePick', 'failedRows', 'level'];
const ofOperation = ['experimentId', 'baselineId', 'baselineName', 'projectId', 'projectName', 'client', 'signal'];

/** @throws ValueError for an unknown key: a limit that is spelled wrong would let everything pass */
export function checkGateKeys(limits: GateLimits, where?: string): void {
  refuseUnknownKeys(limits, where ? ofLimits : [...ofLimits, ...ofOperation], where);
  const within = where ? `${where}.` : '';
  refuseUnknownKeys(limits.baselineTag, ['key', 'value'], `${within}baselineTag`);
  for (const [name, limit] of Object.entries(limits.metrics ?? {}))
    refuseUnknownKeys(limit, ['maxDrop', 'min', 'max'], `${within}metrics[${JSON.stringify(name)}]`);
}

/** Returns true when a drop is limited, which takes a baseline. */
export const mayDrop = ({ metrics = {} }: GateLimits): boolean =>
  Object.values(metrics).some(({ maxDrop }) => maxDrop !== undefined);

/**
 * Refuses a gate that is wrong, whatever it is about: before a run, and not after it.
 * @param hasBaseline whether something beside the gate names one
 * @throws ValueError
 */
export function checkGate(gate: GateLimits, hasBaseline: boolean): void {
  const { metrics = {}, maxFailed, baselineTag, baselinePick, failedRows, level } = gate;
  const refuse = (what: string): never => {
    throw new ValueError(what);
  };
  const within = (name: string, value: unknown, least: number, most: number, range: string) => {
    if (value !== undefined && !(typeof value === 'number' && value >= least && value <= most))
      refuse(`${name} must be a number${range}, and not ${JSON.stringify(value)}`);
  };
  if (Object.keys(metrics).length === 0 && maxFailed === undefined) refuse('gate checks nothing: name metrics, or maxFailed');
  for (const [name, { maxDrop, min, max }] of Object.entries(metrics)) {
    const at = `gate.metrics[${JSON.stringify(name)}]`;
    if (maxDrop === undefined && min === undefined && max === undefined) refuse(`${at} has no limit: give maxDrop, min or max`);
    within(`${at}.maxDrop`, maxDrop, 0, Number.MAX_VALUE, ' from 0 on');
    within(`${at}.min`, min, -Number.MAX_VALUE, Number.MAX_VALUE, '');
    within(`${at}.max`, max, -Number.MAX_VALUE, Number.MAX_VALUE, '');
    if (min !== undefined && max !== undefined && min > max) refuse(`${at}: min is above max, so that no value would do`);
  }
  within('gate.maxFailed', maxFailed, 0, 1, ' from 0 to 1');
  within('gate.level', level, 0.5, 0.9999, ' from 0.5 to 0.9999');
  if (failedRows !== undefined && !['omit', 'worst'].includes(failedRows)) refuse('gate.failedRows is "omit" or "worst"');
  if (baselinePick !== undefined && !isBaselinePick(baselinePick))
    refuse(
      `gate.baselinePick is one of ${baselinePicks.join(', ')}, and not ${JSON.stringify(baselinePick)}; the nearest is ${nearestOf(String(baselinePick), baselinePicks)}`,
    );
  if (mayDrop(gate)) {
    if (!hasBaseline && !baselineTag && !baselinePick) refuse('maxDrop needs a baseline or baselineTag');
  } else if (baselineTag || baselinePick)
    refuse('gate has a baseline, and no metric says how far it may drop below it: give one a maxDrop');
}

/**
 * Decides whether an experiment keeps its limits, and is not worse than a baseline by more than it may.
 * @throws ValueError for an unknown option; NotFoundError, with `errorCode` 3511 where no experiment with the tag has ended; HttpStatusError with 409 for a run that has not ended, or of
 * which values are still to be computed
 */
export async function gateExperiment(options: GateExperimentOptions): Promise<GateResult> {
  checkGateKeys(options);
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  const { baselineId, baselineTag, baselineName, baselinePick } = options;
  return client.send(`/projects/${projectId}/experiments/gate`, {
    body: {
      experiment_id: options.experimentId,
      baseline: (baselineId || baselineTag || baselineName || baselinePick) && {
        experiment_id: baselineId,
        tag: baselineTag,
        name: baselineName,
        pick: baselinePick,
      },
      metrics: Object.entries(options.metrics ?? {}).map(([metric, { maxDrop, ...limits }]) => ({
        ...{ metric, max_drop: maxDrop },
        ...limits,
      })),
      max_failed: options.maxFailed,
      failed_rows: options.failedRows,
      level: options.level,
    },
    repeatable: true,
  });
}
