import type { z } from 'zod';
import type { ProjectCreateResponse } from '../shared/wire/projects.ts';
import { ValueError } from './errors.ts';
import { type CallOptions, clientOf } from './project.ts';

export type CreatedProject = z.output<typeof ProjectCreateResponse>;

/** Creates a project. @throws ValueError without a name; HttpStatusError 409 when the name is taken. */
export async function createProject(options: CallOptions & { name: string }): Promise<CreatedProject> {
  const { name } = options;
  if (!name) throw new ValueError('a project needs a name');
  return clientOf(options).send('/projects', { body: { name } });
}
