import type { z } from 'zod';
import type { Caller } from '../../shared/accounts/permissions.ts';
import type { ExperimentStore } from '../../shared/experiments/experimentStore.ts';
import { approveExperiment } from '../../shared/gate/approveExperiment.ts';
import type { GateAnswer, GateCheck, GatedExperiment, GateRequest as GateQuestion } from '../../shared/gate/gate.ts';
import { GateReply, GateRequest } from '../../shared/wire/experimentGate.ts';
import { ExperimentParams } from '../../shared/wire/experiments.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

const DEFAULT_LEVEL = 0.95;

export interface ExperimentGateDeps {
  gate(projectId: string, request: GateQuestion, signal?: AbortSignal): Promise<GateAnswer>;
  experiments: Pick<ExperimentStore, 'find' | 'approve' | 'noteGate'>;
  mayUpdate(caller: Caller, projectId: string): Promise<boolean>;
}

/** Decides whether an experiment is good enough, for builds that fail when its quality drops. */
export function experimentGateRoutes({ gate, experiments, mayUpdate }: ExperimentGateDeps): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/projects/{project_id}/experiments/gate',
      summary: 'Hold an experiment against a baseline and limits',
      description:
        'Has a metric dropped by more than it may, and is it within its limits? `failed` where one of the checks fails; `undecided` where the rows do not ' +
        'tell, or fewer than half of them have a value; else `passed`. 409 for an experiment or a baseline that has not run to its end, or of which values ' +
        'are still to be computed; 404 with the number 3511 where there is no such baseline. What it came to is noted on the experiment, unless the caller may only read.',
      tag: 'Experiments',
      access: { project: 'read' },
      params: ProjectParams,
      body: GateRequest,
      response: GateReply,
      errors: ['Conflict', 'BaselineNotFound'],
      async handle({ project, body, caller, signal }) {
        const level = body.level ?? DEFAULT_LEVEL;
        const { baseline } = body;
        const answer = await gate(
          project.id,
          {
            experimentId: body.experiment_id,
            baseline: baseline
              ? {
                  experimentId: baseline.experiment_id ?? undefined,
                  tag: baseline.tag ?? undefined,
                  name: baseline.name ?? undefined,
                  pick: baseline.pick ?? undefined,
                }
              : undefined,
            metrics: (body.metrics ?? []).map(({ metric, max_drop, min, max }) => ({
              ...{ metric, maxDrop: max_drop ?? undefined, min: min ?? undefined, max: max ?? undefined },
            })),
            maxFailed: body.max_failed ?? undefined,
            failedRows: body.failed_rows ?? undefined,
            level,
          },
          signal,
        );
        if (await mayUpdate(caller, project.id)) await experiments.noteGate(project.id, body.experiment_id, answer.status);
        return {
          status: answer.status,
          experiment: experimentToWire(answer.experiment),
          baseline: answer.baseline && experimentToWire(answer.baseline),
          baseline_choice: answer.baselineChoice,
          level,
          checks: answer.checks.map(checkToWire),
          reasons: answer.checks.filter(({ status }) => status !== 'passed').map(({ reason }) => reason),
          warnings: answer.warnings,
        };
      },
    }),
    endpoint({
      method: 'put',
      path: '/projects/{project_id}/experiments/{experiment_id}/approval',
      summary: 'Approve an experiment as a baseline',
      description:
        'A gate with the pick `approved` takes the newest of a series that is approved. 409 for an experiment that has not run to its end, or all rows of which failed.',
      tag: 'Experiments',
      access: { project: 'update' },
      params: ExperimentParams,
      status: 204,
      errors: ['Conflict'],
      handle: ({ project, params, caller }) => approveExperiment(experiments, project.id, params.experiment_id, caller.userId),
    }),
    endpoint({
      method: 'delete',
      path: '/projects/{project_id}/experiments/{experiment_id}/approval',
      summary: 'Take the approval of an experiment back',
      tag: 'Experiments',
      access: { project: 'update' },
      params: ExperimentParams,
      status: 204,
      handle: ({ project, params }) => approveExperiment(experiments, project.id, params.experiment_id, null),
    }),
  ];
}

const experimentToWire = ({ id, name, rows, failedRows, tags }: GatedExperiment): z.input<typeof GateReply>['experiment'] => ({
  ...{ id, name, rows, failed_rows: failedRows },
  tags: Object.fromEntries(tags.map(({ key, value }) => [key, value])),
});

const checkToWire = (check: GateCheck): z.input<typeof GateReply>['checks'][number] => ({
  ...{ rule: check.rule, metric: check.metric, limit: check.limit, status: check.status, value: check.value },
  ...{ baseline_value: check.baselineValue, difference: check.difference, interval: check.interval, rows: check.rows },
  ...{ rows_to_decide: check.rowsToDecide, reason: check.reason },
});
