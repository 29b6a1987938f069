import type { ByteShares } from '../../shared/concurrency/byteShares.ts';
import type { HeldUpdateUsage } from '../../shared/records/heldUpdates.ts';
import type { RecordWriter } from '../../shared/records/recordWriter.ts';
import { NoQuery } from '../../shared/wire/common.ts';
import { IngestCountersResponse } from '../../shared/wire/ingestCounters.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

/** Counts the records that were sent to a project by their outcome, and the bytes under way. */
export const ingestCounterRoutes = (deps: {
  writer: Pick<RecordWriter, 'counters' | 'waitingBytes'>;
  /** Counts the bytes that the bodies of requests hold. */
  bodies: Pick<ByteShares, 'refusedRequests' | 'bytes' | 'limitBytes'>;
  heldUpdates(projectId: string): Promise<HeldUpdateUsage>;
}): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/projects/{project_id}/ingest_counters',
    summary: 'Counters of logged records',
    description:
      'Since this process of the service started: every accepted record is stored, held, rejected, or under way. `held_updates` is what the project has now, whichever process held it (`dropped` is of this process); the gauges of `process` are of all projects.',
    tag: 'Records',
    access: { project: 'read' },
    query: NoQuery,
    params: ProjectParams,
    response: IngestCountersResponse,
    async handle({ project }) {
      const { accepted, stored, held, dropped, rejected } = deps.writer.counters.of(project.id);
      const waiting = await deps.heldUpdates(project.id);
      return {
        project_id: project.id,
        accepted_records: accepted,
        stored_records: stored,
        held_records: held,
        rejected_records: rejected,
        records_under_way: accepted - stored - held - rejected,
        held_updates: {
          updates: waiting.updates,
          updates_limit: waiting.updatesLimit,
          bytes: waiting.bytes,
          bytes_limit: waiting.bytesLimit,
          dropped,
        },
        process: {
          refused_requests: deps.bodies.refusedRequests,
          bytes_under_way: deps.bodies.bytes,
          bytes_limit: deps.bodies.limitBytes,
          bytes_waiting: deps.writer.waitingBytes,
        },
      };
    },
  }),
];
