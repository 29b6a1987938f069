import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';

export interface ApproveExperimentOptions extends OperationOptions {
  experimentId: string;
  /** False takes the approval back. */
  approved?: boolean | undefined;
}

/**
 * Approves an experiment as a baseline: a gate with the pick `approved` takes the newest of a series that is approved.
 * @throws NotFoundError where there is no such experiment in the project
 */
export async function approveExperiment(options: ApproveExperimentOptions): Promise<void> {
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  await client.send(`/projects/${projectId}/experiments/${options.experimentId}/approval`, {
    method: options.approved === false ? 'DELETE' : 'PUT',
    repeatable: true,
  });
}
