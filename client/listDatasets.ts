import type { DatasetResponse } from './createDataset.ts';
import { type Pages, pagesOf } from './pages.ts';
import { type CallOptions, clientOf, type ProjectChoice } from './project.ts';

/** The datasets that the caller can read; with `projectId`, those that this project uses. */
export const listDatasets = (options: CallOptions & Pick<ProjectChoice, 'projectId'> = {}): Pages<DatasetResponse> =>
  pagesOf(clientOf(options), '/datasets/query', 'datasets', {
    filters: options.projectId ? [{ name: 'used_in_project', value: options.projectId }] : [],
    sort: { name: 'created_at', ascending: false },
  });
