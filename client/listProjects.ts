import type { z } from 'zod';
import type { Project } from '../shared/wire/projects.ts';
import { type Pages, pagesOf } from './pages.ts';
import { type CallOptions, clientOf } from './project.ts';

export type ProjectResponse = z.output<typeof Project>;

/** The projects that the caller can read. */
export const listProjects = (options: CallOptions = {}): Pages<ProjectResponse> =>
  pagesOf(clientOf(options), '/projects/paginated', 'projects', {});
