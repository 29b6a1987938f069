import type { GateResult } from './experimentRunResults.ts';
import { refuseUnknownKeys } from './knownKeys.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';

export const baselinePicks = ['newest', 'approved', 'passed'] as const;
export type BaselinePick = (typeof baselinePicks)[number];

export const isBaselinePick = (word: string | undefined): word is BaselinePick => baselinePicks.some((pick) => pick === word);

/** What an experiment must keep. */
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
}

const ofLimits = ['metrics', 'maxFailed', 'baselineTag', 'baselinePick', 'failedRows', 'level'];
const ofOperation = ['experimentId', 'baselineId', 'projectId', 'projectName', 'client', 'signal'];

/** @throws ValueError for an unknown key: a limit that is spelled wrong would let everything pass */
export function checkGateKeys(limits: GateLimits, where?: string): void {
  refuseUnknownKeys(limits, where ? ofLimits : [...ofLimits, ...ofOperation], where);
  const within = where ? `${where}.` : '';
  refuseUnknownKeys(limits.baselineTag, ['key', 'value'], `${within}baselineTag`);
  for (const [name, limit] of Object.entries(limits.metrics ?? {}))
    refuseUnknownKeys(limit, ['maxDrop', 'min', 'max'], `${within}metrics[${JSON.stringify(name)}]`);
}

/**
 * Whether an experiment keeps its limits, and is not worse than a baseline by more than it may.
 * @throws ValueError for an unknown option; NotFoundError, with `errorCode` 3511 where no experiment with the tag has ended; HttpStatusError with 409 for a run that has not ended, or of
 * which values are still to be computed
 */
export async function gateExperiment(options: GateExperimentOptions): Promise<GateResult> {
  checkGateKeys(options);
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  const { baselineId, baselineTag, baselinePick } = options;
  return client.send(`/projects/${projectId}/experiments/gate`, {
    body: {
      experiment_id: options.experimentId,
      baseline: (baselineId || baselineTag || baselinePick) && {
        experiment_id: baselineId,
        tag: baselineTag,
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
