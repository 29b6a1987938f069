import type { z } from 'zod';
import type { Project, ProjectCreateResponse } from '../shared/wire/projects.ts';
import { type CallOptions, clientOf } from './callOptions.ts';
import { ValueError } from './errors.ts';
import { type Pages, pagesOf } from './pages.ts';

export type CreatedProject = z.output<typeof ProjectCreateResponse>;

/** Creates a project. @throws ValueError without a name; HttpStatusError 409 when the name is taken. */
export async function createProject(options: CallOptions & { name: string }): Promise<CreatedProject> {
  const { name } = options;
  if (!name) throw new ValueError('a project needs a name');
  return clientOf(options).send('/projects', { body: { name } });
}

export type ProjectResponse = z.output<typeof Project>;

/** The projects that the caller can read; with `includeCounts`, when the newest record of each was made. */
export const listProjects = (options: CallOptions & { includeCounts?: boolean } = {}): Pages<ProjectResponse> =>
  pagesOf(clientOf(options), '/projects/paginated', 'projects', {}, { include_counts: options.includeCounts ?? false });

/** Deletes a project with all its log streams, experiments and records. @throws NotFoundError when there is none. */
export async function deleteProject(options: CallOptions & { id: string }): Promise<void> {
  await clientOf(options).send(`/projects/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
