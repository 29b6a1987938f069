import type { ExperimentResponse } from '../shared/wire/experiments.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { ValueError } from './errors.ts';

/** The group that an experiment goes to. The id wins over the name; a name that the project lacks becomes a new group. */
export interface ExperimentGroupChoice {
  experimentGroup?: string | undefined;
  experimentGroupId?: string | undefined;
}

export interface CreateExperimentOptions extends OperationOptions, ExperimentGroupChoice {
  experimentName: string;
}

/**
 * Creates an experiment without running it. Sent with a key of its own, so that a repeat after a broken connection makes no second one.
 * @returns the experiment as the service gives it (keys in snake_case)
 * @throws ValueError without a name or a project; NotFoundError with `errorCode` 3520 for a group id that is not in the project.
 */
export async function createExperiment(options: CreateExperimentOptions): Promise<ExperimentResponse> {
  const name = requiredName(options.experimentName);
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  return client.send(`/projects/${projectId}/experiments`, {
    body: { name, task_type: 16, ...groupKeys(options) },
    headers: { 'idempotency-key': crypto.randomUUID() },
    repeatable: true,
  });
}

/** @throws ValueError */
export function requiredName(name: unknown): string {
  if (typeof name !== 'string' || name.trim() === '') throw new ValueError('experimentName must be given: a text');
  return name;
}

/** The group as creation takes it: the id, else the name, else nothing and the service chooses. */
export const groupKeys = ({ experimentGroup, experimentGroupId }: ExperimentGroupChoice): Record<string, string> =>
  experimentGroupId
    ? { experiment_group_id: experimentGroupId }
    : experimentGroup
      ? { experiment_group_name: experimentGroup }
      : {};
