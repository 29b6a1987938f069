import type { z } from 'zod';
import type { DefaultJudgeResponse } from '../shared/wire/defaultJudge.ts';
import { clientOf, type OperationOptions, resolveProject } from './project.ts';

export type DefaultJudge = z.output<typeof DefaultJudgeResponse>;

/** The model that judges where a metric of a project names none. */
export async function getDefaultJudge(options: OperationOptions = {}): Promise<DefaultJudge> {
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/default_judge`);
}
