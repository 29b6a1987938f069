import type { ColumnValues, MetadataKeys } from '../shared/wire/columnValues.ts';
import { clientOf, resolveProject } from './callOptions.ts';
import { type RecordChoice, recordsOf } from './recordChoice.ts';

export type { ColumnValues, MetadataKeys };

export interface ColumnValuesOptions extends RecordChoice {
  columnId: string;
  /** Only values with this text in them, whatever its case. */
  contains?: string | undefined;
  /** Default 20, at most 1,000. */
  limit?: number | undefined;
}

/**
 * The most frequent values of a column among the newest 100,000 records that match.
 * @throws ValueError unless exactly one run is given; HttpStatusError 422 for an unknown column or filter.
 */
export async function columnValues(options: ColumnValuesOptions): Promise<ColumnValues> {
  const { kind = 'traces', columnId, contains, limit } = options;
  const body = { ...recordsOf(options), column_id: columnId, contains, limit };
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/${kind}/column_values`, { body, repeatable: true });
}

/** The keys of the metadata of the newest 100,000 records that match, as ids of columns. Throws as {@link columnValues}. */
export async function metadataKeys(options: RecordChoice & { limit?: number | undefined }): Promise<MetadataKeys> {
  const { kind = 'traces', limit } = options;
  const client = clientOf(options);
  const body = { ...recordsOf(options), limit };
  return client.send(`/projects/${await resolveProject(client, options)}/${kind}/metadata_keys`, { body, repeatable: true });
}
