import type { z } from 'zod';
import type { DatasetEdit as EditSchema } from '../shared/wire/datasets.ts';
import { type CallOptions, clientOf } from './project.ts';

export type DatasetEdit = z.input<typeof EditSchema>;

export interface EditDatasetOptions extends CallOptions {
  id: string;
  /** In their order; together they make one version. */
  edits: DatasetEdit[];
}

/** Edits rows and columns. @throws HttpStatusError 409 when somebody else has changed the dataset meanwhile, 422 for an edit that cannot be made. */
export async function editDataset({ id, edits, ...options }: EditDatasetOptions): Promise<void> {
  // A repeat could append the same rows again.
  await clientOf(options).send(`/datasets/${encodeURIComponent(id)}/content`, {
    method: 'PATCH',
    body: { edits },
    repeatable: false,
  });
}
