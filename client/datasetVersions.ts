import type { z } from 'zod';
import type { DatasetVersionResponse } from '../shared/wire/datasets.ts';
import { type Pages, pagesOf } from './pages.ts';
import { type CallOptions, clientOf } from './project.ts';

export type DatasetVersion = z.output<typeof DatasetVersionResponse>;

/** The versions of a dataset, newest first, and what each of them changed. */
export const datasetVersions = (options: CallOptions & { id: string }): Pages<DatasetVersion> =>
  pagesOf(clientOf(options), `/datasets/${encodeURIComponent(options.id)}/versions/query`, 'versions', {});
