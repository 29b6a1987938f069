import type { z } from 'zod';
import type { Caller } from '../../shared/accounts/permissions.ts';
import { selectionToWire } from '../../shared/datasets/rowSelection.ts';
import type { CallEstimate, EstimateDeps, EstimatedRun, RunEstimate } from '../../shared/experiments/estimateRun.ts';
import { EstimateReply, EstimateRequest } from '../../shared/wire/experimentEstimate.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export interface ExperimentEstimateDeps {
  /** Datasets and scorers that a caller sees. */
  seenBy(caller: Caller): Pick<EstimateDeps, 'datasets' | 'scorers'>;
  estimate(seen: Pick<EstimateDeps, 'datasets' | 'scorers'>, projectId: string, asked: EstimatedRun): Promise<RunEstimate>;
  /** @throws ServiceError `NotFound` for a prompt version that the caller does not see. */
  mustSeePrompt(caller: Caller, versionId: string): Promise<void>;
}

/** Routes that estimate the cost of an experiment. */
export function experimentEstimateRoutes({ seenBy, estimate, mustSeePrompt }: ExperimentEstimateDeps): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/projects/{project_id}/experiments/estimate',
      summary: 'Estimate what a run would cost',
      description:
        'Starts nothing and calls no model. Up to 25 rows are taken evenly from those that would run: the prompt is rendered for each, and the prompts of ' +
        'judges are made for it with the reference output in place of the answer; four characters count as a token, an answer without a reference and the ' +
        'answer of a judge as 500. What would refuse the run is refused here.',
      tag: 'Experiments',
      access: { project: 'create_run' },
      params: ProjectParams,
      body: EstimateRequest,
      response: EstimateReply,
      async handle({ project, body, caller }) {
        const { runner } = body;
        if (runner?.kind === 'prompt_template') await mustSeePrompt(caller, runner.prompt_template_version_id);
        const asked = {
          userId: caller.userId,
          dataset: { id: body.dataset.dataset_id, versionIndex: body.dataset.version_index ?? undefined },
          runner: toRunner(runner),
          ...{ scorers: body.scorers ?? [], rows: body.rows ?? undefined, trials: body.trials ?? 1 },
        };
        return toWire(await estimate(seenBy(caller), project.id, asked));
      },
    }),
  ];
}

function toRunner(runner: z.output<typeof EstimateRequest>['runner']): EstimatedRun['runner'] {
  if (!runner) return { kind: 'dataset_outputs' };
  switch (runner.kind) {
    case 'prompt_template':
      return {
        kind: runner.kind,
        versionId: runner.prompt_template_version_id,
        settings: runner.prompt_settings ?? null,
      };
    case 'http':
      return { kind: runner.kind, url: runner.url };
    default:
      return runner;
  }
}

const callsToWire = ({ calls, inputTokens, outputTokens, costUsd, unknown }: CallEstimate) => ({
  ...{ calls, input_tokens: inputTokens, output_tokens: outputTokens, cost: costUsd, unknown },
});

function toWire({ rows, trials, selectedRows, sampledRows, run, metrics }: RunEstimate): EstimateReply {
  const all = [run, ...metrics];
  const isWhole = all.every(({ costUsd }) => costUsd !== null);
  const known = all.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  return {
    ...{ rows, trials, executions: rows * trials, sampled_rows: sampledRows },
    row_selection: selectionToWire(selectedRows),
    run: { ...callsToWire(run), model: run.model, most_cost: run.mostCostUsd, answers: run.answers },
    metrics: metrics.map(({ scorerId, name, judgeModel, lacking, ...calls }) => ({
      ...{ ...callsToWire(calls), scorer_id: scorerId, name, judge_model: judgeModel, lacking },
    })),
    // Nothing known is not nothing to pay.
    cost: isWhole || known > 0 ? known : null,
    is_whole: isWhole,
  };
}
