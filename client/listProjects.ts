import type { z } from 'zod';
import type { Project } from '../shared/wire/projects.ts';
import { type Pages, pagesOf } from './pages.ts';
import { type CallOptions, clientOf } from './project.ts';

export type ProjectResponse = z.output<typeof Project>;

/** The projects that the caller can read; with `includeCounts`, when the newest record of each was made. */
export const listProjects = (options: CallOptions & { includeCounts?: boolean } = {}): Pages<ProjectResponse> =>
  pagesOf(clientOf(options), '/projects/paginated', 'projects', {}, { include_counts: options.includeCounts ?? false });
