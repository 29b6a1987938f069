import type { ServiceState } from '../../../../shared/wire/serviceState.ts';

type Part = ServiceState['parts'][number];

const servers: Record<Part['id'], string> = {
  record_store: 'Start ClickHouse, or look at CLICKHOUSE_URL.',
  metadata_store: 'Start Postgres, or look at DATABASE_URL.',
  temporal: 'Start the Temporal server, or look at TEMPORAL_ADDRESS. Experiments wait meanwhile; everything else works.',
  coordination: 'Start Redis, or look at REDIS_URL. Live progress and limits across processes wait meanwhile.',
};

/** The advice for a part that does not answer. */
export const helpForPart = ({ id, is_embedded }: Part): string =>
  is_embedded ? 'It runs inside the service: look at the end of its log, and start the service again.' : servers[id];

/** The advice for a queue without a worker. */
export const helpForQueue = (name: string): string =>
  `Work of it waits: start a worker whose WORKER_QUEUES has ${name}, or one without that setting, which serves all.`;
