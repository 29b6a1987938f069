import { z } from 'zod';
import { RequestInvalid } from '../../shared/errors/errors.ts';
import type { IngestLookup } from '../../shared/projects/openRun.ts';
import type { RunIds } from '../../shared/projects/runs.ts';
import type { RefusedList } from '../../shared/recordSchemas/ingest.ts';
import type { DeleteDeps } from '../../shared/records/delete.ts';
import type { EmptySessions } from '../../shared/records/emptySessions.ts';
import type { ReadDeps } from '../../shared/records/read.ts';
import type { RecordWriter } from '../../shared/records/recordWriter.ts';
import { QueryFlag } from '../../shared/wire/common.ts';
import type { ProjectInPath } from '../http/route.ts';
import type { RecordSearchDeps } from './recordQuery.ts';

export interface RecordDeps extends RecordSearchDeps {
  /** The run of what is logged anew; updates, reads and deletions go by `findRun`. */
  ingestRun: IngestLookup;
  writer: RecordWriter;
  emptySessions: Pick<EmptySessions, 'left'>;
  reading: ReadDeps;
  deletion: DeleteDeps;
}

/** Files are not stored with the records, so there are no addresses of theirs to sign: the flag is taken and changes nothing. */
const ReadQuery = z.object({ include_presigned_urls: QueryFlag(false) });
/** A trace or span may be read without those below it. */
export const ReadInTraceQuery = ReadQuery.extend({
  include_children: QueryFlag(true).describe(
    'False: the record alone, its `spans` empty. `has_children` says whether there are any.',
  ),
});
export const ReadSessionQuery = ReadQuery.extend({
  include_children: QueryFlag(true).describe('False: the session alone, its `traces` empty.'),
});
/** A flush of a client's experiment logger is 128 rows or some 10 MB; one trace of 10,000 spans is 30 MB. */
export const INGEST_BODY_LIMIT = 64 * 1024 * 1024;
/** The declaration that routes share which log or change records. */
export const logsRecords = {
  tag: 'Records',
  access: { project: 'log_data' },
  bodyKind: 'records',
  bodyLimit: INGEST_BODY_LIMIT,
  isIngest: true,
} as const;
/** The keys that every answer to logged records begins with. */
export const answerFor = (project: ProjectInPath, body: RunIds, sessionId: string | null, records: number) => ({
  log_stream_id: body.log_stream_id ?? null,
  experiment_id: body.experiment_id ?? null,
  metrics_testing_id: body.metrics_testing_id ?? null,
  project_id: project.id,
  project_name: project.name,
  session_id: sessionId,
  records_count: records,
});

/** The keys of an answer that say what of the request could not be stored. */
export const refusedIn = ({ some, count }: RefusedList) => (count === 0 ? {} : { refused: some, refused_count: count });

/** The body of an update repeats the id of its path. @throws RequestInvalid when it names another record. */
export function sameAsInPath(key: 'trace_id' | 'span_id', inPath: string, inBody: string): void {
  if (inPath === inBody) return;
  throw new RequestInvalid([{ loc: ['body', key], msg: `must be the id of the path, ${inPath}`, type: 'id_mismatch' }]);
}
