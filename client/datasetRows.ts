import type { z } from 'zod';
import type { DatasetRowResponse } from '../shared/wire/datasets.ts';
import { type Pages, pagesOf } from './pages.ts';
import { type CallOptions, clientOf } from './project.ts';

export type DatasetRow = z.output<typeof DatasetRowResponse>;

/** The rows of a dataset in their order, cells by column name in `values_dict`. Absent `versionIndex`: as each page finds the dataset now. */
export function datasetRows(options: CallOptions & { id: string; versionIndex?: number | undefined }): Pages<DatasetRow> {
  const { id, versionIndex } = options;
  const version = versionIndex === undefined ? '' : `/versions/${versionIndex}`;
  return pagesOf(clientOf(options), `/datasets/${encodeURIComponent(id)}${version}/content`, 'rows');
}
