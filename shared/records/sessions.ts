import { ServiceError } from '../errors/errors.ts';
import { newId } from '../identifiers/ids.ts';
import type { RunRef } from '../projects/runs.ts';
import { sessionIdOf } from './ingest.ts';
import { asUnavailable } from './persistBlock.ts';
import type { StoredRecord } from './record.ts';
import type { RecordWriter } from './recordWriter.ts';

export interface NewSession {
  name?: string | null | undefined;
  previousSessionId?: string | null | undefined;
  externalId?: string | null | undefined;
  metadata?: Readonly<Record<string, string>> | null | undefined;
}

/**
 * Opens a session. The same external id in the same run is the same session: it comes back as it was first opened.
 * A session without a name gets its external id, or the time, for one.
 */
export async function openSession(
  writer: Pick<RecordWriter, 'write'>,
  readRecord: (run: RunRef, id: string) => Promise<StoredRecord | undefined>,
  run: RunRef,
  { name, previousSessionId, externalId, metadata }: NewSession,
): Promise<StoredRecord> {
  const external = externalId || undefined;
  const id = external === undefined ? newId() : sessionIdOf(run, external);
  await writer.write(run, [
    {
      action: 'open',
      freshId: external === undefined,
      record: {
        id,
        type: 'session',
        session_id: id,
        trace_id: null,
        name: name || external || `Session ${new Date().toISOString().slice(0, 19).replace('T', ' ')}`,
        ...(external === undefined ? {} : { external_id: external }),
        ...(previousSessionId ? { previous_session_id: previousSessionId } : {}),
        ...(metadata ? { user_metadata: metadata } : {}),
      },
    },
  ]);
  const session = await readRecord(run, id).catch((err: unknown) => {
    throw asUnavailable(err);
  });
  if (!session) throw new ServiceError('RunNotFound', 'the run was deleted while the session was opened');
  return session;
}
