import type { RunRef } from '../projects/runs.ts';
import { sessionOf } from './ingest.ts';
import type { RecordUpdate } from './recordChange.ts';
import type { RecordWriter } from './recordWriter.ts';

/**
 * Changes a stored trace or span. Null and absent fields keep what is stored, tags are added; of two updates at once, neither is lost. An update
 * that comes before its record waits for it, for a day.
 * @returns the session of the record, null where it has none or has not come; and how many records changed, 0 or 1.
 * @throws ServiceError `NotFound` when the record was deleted or is not of this kind, `Unavailable` when too many updates wait already.
 */
export async function updateRecord(
  writer: Pick<RecordWriter, 'write'>,
  run: RunRef,
  of: 'trace' | 'span',
  id: string,
  { input, output, status_code, tags, duration_ns, metrics, is_complete, kept }: RecordUpdate,
): Promise<{ sessionId: string | null; records: number }> {
  const update = { input, output, status_code, tags, duration_ns, metrics, is_complete, kept };
  const written = await writer.write(run, [{ action: 'update', id, of, update }]);
  return { sessionId: sessionOf(written), records: written.filter(({ isHeld }) => !isHeld).length };
}
