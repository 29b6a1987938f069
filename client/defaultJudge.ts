import type { z } from 'zod';
import type { DefaultJudgeResponse } from '../shared/wire/defaultJudge.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';

export type DefaultJudge = z.output<typeof DefaultJudgeResponse>;

/** The model that judges where a metric of a project names none. */
export async function getDefaultJudge(options: OperationOptions = {}): Promise<DefaultJudge> {
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/default_judge`);
}

/**
 * Says which model judges where a metric of a project names none.
 * @param options.model as its integration lists it, or `integration/model`; null: none
 * @throws HttpStatusError 422 for a model that there is not, naming the closest.
 */
export async function setDefaultJudge(options: OperationOptions & { model: string | null }): Promise<DefaultJudge> {
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/default_judge`, {
    method: 'PUT',
    body: { model: options.model },
  });
}
