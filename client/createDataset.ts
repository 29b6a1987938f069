import type { z } from 'zod';
import type { CreatedDatasetResponse as CreatedSchema, DatasetResponse as DatasetSchema } from '../shared/wire/datasets.ts';
import { jsonWithBigInts } from '../shared/wire/longNumbers.ts';
import { ValueError } from './errors.ts';
import { type CallOptions, clientOf, type ProjectChoice } from './project.ts';

export type DatasetResponse = z.output<typeof DatasetSchema>;

/** `csv` says how a CSV was read. */
export type CreatedDataset = z.output<typeof CreatedSchema>;

export interface CreateDatasetOptions extends CallOptions, Pick<ProjectChoice, 'projectId'> {
  name: string;
  /** Rows. `input`, `output` (the reference answer), `generated_output` and `metadata` have a meaning to experiments; any other column may be there. */
  content?: Record<string, unknown>[];
  /** A file's content instead of rows. */
  file?: Blob;
  format?: 'csv' | 'json' | 'jsonl';
  /** The separator of the fields of a CSV. Absent: detected. */
  delimiter?: ',' | ';' | '\t' | '|';
}

/**
 * Creates a dataset, empty when there are neither rows nor a file. With `projectId` it is listed under that project.
 * @throws ValueError without a name or with rows and a file; HttpStatusError 409 when the name is taken, 422 naming the line that cannot be read.
 */
export async function createDataset(options: CreateDatasetOptions): Promise<CreatedDataset> {
  const { name, content, file, projectId, delimiter } = options;
  if (!name) throw new ValueError('a dataset needs a name');
  if (content && file) throw new ValueError('give the rows of a dataset or a file, not both');
  const form = new FormData();
  form.set('name', name);
  if (projectId) form.set('project_id', projectId);
  if (content) form.set('file', new Blob([content.map((row) => jsonWithBigInts(row)).join('\n')]), name);
  if (file) form.set('file', file, name);
  const format = content ? 'jsonl' : (options.format ?? 'csv');
  return clientOf(options).send('/datasets', { method: 'POST', form, query: { format, delimiter } });
}
