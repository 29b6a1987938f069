import type { Expiries } from '../projects/retention.ts';
import type { RecordReader } from './read.ts';
import type { StoredRecord } from './record.ts';

/** Single reads without what has expired: a trace goes as a whole, a session with the last of its traces. */
export function unexpiredReader(reader: RecordReader, expiries: Pick<Expiries, 'before'>): RecordReader {
  return {
    ...reader,
    async traceRecords(projectId, traceId, limit, fields) {
      const [found, before] = await Promise.all([
        reader.traceRecords(projectId, traceId, limit, fields),
        expiries.before(projectId),
      ]);
      return found && hasNewer(found.records, before) ? found : undefined;
    },
    async spanRecords(run, span, limit) {
      const [found, before] = await Promise.all([reader.spanRecords(run, span, limit), expiries.before(run.projectId)]);
      return before === undefined || found.newest >= before ? found : { ...found, records: [] };
    },
    async recordAlone(run, record) {
      const [found, before] = await Promise.all([reader.recordAlone(run, record), expiries.before(run.projectId)]);
      return before === undefined || found.newest >= before ? found : { ...found, records: [] };
    },
    async sessionRecords(run, sessionId, limit) {
      const [records, before] = await Promise.all([reader.sessionRecords(run, sessionId, limit), expiries.before(run.projectId)]);
      if (!hasNewer(records, before)) return [];
      const traces = Map.groupBy(records, ({ trace_id }) => trace_id);
      return records.filter(({ type, trace_id }) => type === 'session' || hasNewer(traces.get(trace_id) ?? [], before));
    },
  };
}

const hasNewer = (records: readonly StoredRecord[], before: string | undefined): boolean =>
  before === undefined || records.some(({ created_at }) => created_at >= before);
