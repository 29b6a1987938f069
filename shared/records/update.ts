import type { RunRef } from '../projects/runs.ts';
import { sessionOf } from './ingest.ts';
import type { RecordUpdate } from './recordChange.ts';
import type { RecordWriter } from './recordWriter.ts';

/**
 * Changes a stored trace or span. Null and absent fields keep what is stored, tags are added; of two updates at once, neither is lost.
 * @returns the session of the record, null where it has none.
 * @throws ServiceError `NotFound` when the record is not stored (yet): clients send the update again.
 */
export async function updateRecord(
  writer: Pick<RecordWriter, 'write'>,
  run: RunRef,
  of: 'trace' | 'span',
  id: string,
  update: RecordUpdate,
): Promise<string | null> {
  const written = await writer.write(run, [{ action: 'update', id, of, update }]);
  return sessionOf(written);
}
