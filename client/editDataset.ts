import type { z } from 'zod';
import type { DatasetEdit as EditSchema } from '../shared/wire/datasets.ts';
import { type CallOptions, clientOf } from './project.ts';

export type DatasetEdit = z.input<typeof EditSchema>;

export interface EditDatasetOptions extends CallOptions {
  id: string;
  /** In their order; together they make one version. */
  edits: DatasetEdit[];
  /** The version that the edits were made for. Absent: they are made on whatever is there. */
  ifVersion?: number | undefined;
}

/**
 * Edits rows and columns.
 * @throws HttpStatusError 412 when `ifVersion` is no longer the current version, 409 when too many change the dataset at once, 422 for an edit that cannot
 * be made
 */
export async function editDataset({ id, edits, ifVersion, ...options }: EditDatasetOptions): Promise<void> {
  // A repeat could append the same rows again.
  await clientOf(options).send(`/datasets/${encodeURIComponent(id)}/content`, {
    method: 'PATCH',
    body: { edits },
    ...(ifVersion === undefined ? {} : { headers: { 'If-Match': `"${id}.${ifVersion}"` } }),
    repeatable: false,
  });
}
