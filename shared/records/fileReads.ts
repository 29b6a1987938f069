import type { RunRef } from '../projects/runs.ts';
import type { FileMetadata } from '../wire/recordParts.ts';
import type { StoredRecord } from './record.ts';

/** Uploaded files by their ids. */
export type KnownFiles = ReadonlyMap<string, FileMetadata>;

/** Reads what is known of uploaded files, for the reads of records. */
export interface FileReads {
  /** Those of these files that the project has. */
  files(projectId: string, ids: readonly string[]): Promise<KnownFiles>;
}

const none: KnownFiles = new Map();

/** The files that these records name. Where they name none, as nearly always, nothing is read. */
export async function filesOf(
  reads: FileReads,
  { projectId }: Pick<RunRef, 'projectId'>,
  records: readonly Pick<StoredRecord, 'file_ids'>[],
): Promise<KnownFiles> {
  const ids = new Set(records.flatMap(({ file_ids }) => file_ids ?? []));
  return ids.size === 0 ? none : reads.files(projectId, [...ids]);
}
