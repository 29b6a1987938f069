import { statfs } from 'node:fs/promises';
import type { Config } from '../../shared/config/config.ts';
import { type QueueName, taskQueues } from '../../shared/config/taskQueues.ts';
import { QUEUE_BYTES, type RecordWriter } from '../../shared/records/recordWriter.ts';
import type { ServiceState } from '../../shared/wire/serviceState.ts';
import type { BodyBounds } from '../http/bodyBounds.ts';
import type { Health, PartId } from './health.ts';

const MiB = 1024 * 1024;

export interface ServiceStateDeps {
  health: Health;
  version: string;
  config: Config;
  queueWorkers(): Promise<[QueueName, number | null][]>;
  bodies: Pick<BodyBounds, 'memory' | 'disk'>;
  writer: Pick<RecordWriter, 'waitingBytes'>;
  startedAt: Date;
}

/** Looks at every part of the service, at its disk, and at what is used of its limits. */
export const createServiceState =
  ({ health, version, config, queueWorkers, bodies, writer, startedAt }: ServiceStateDeps) =>
  async (): Promise<ServiceState> => {
    const isEmbedded = embeddedParts(config);
    const hasFolder = isEmbedded.record_store || isEmbedded.metadata_store;
    const [{ ok, message, parts }, queues, disk] = await Promise.all([
      health(),
      queueWorkers(),
      hasFolder ? statfs(config.DATA_DIR) : null,
    ]);
    return {
      version,
      started_at: startedAt.toISOString(),
      is_ready: ok,
      message,
      parts: parts.map(({ id, label, isNeeded, latencyMs }) => ({
        ...{
          id,
          label: id === 'coordination' ? `coordination (${isEmbedded[id] ? 'in memory' : label})` : label,
          is_embedded: isEmbedded[id],
          is_needed: isNeeded,
        },
        ...{ answers: latencyMs !== undefined, latency_ms: latencyMs ?? null },
      })),
      queues: queues.map(([name, workers]) => ({ name, task_queue: taskQueues[name], workers })),
      disk: disk && { free_bytes: disk.bavail * disk.bsize, total_bytes: disk.blocks * disk.bsize },
      limits: [
        bytes('bodies', 'Bodies of requests in memory', bodies.memory.limitBytes, bodies.memory.bytes, 'BODIES_MB'),
        bytes('uploads', 'Files of uploads on disk', bodies.disk.limitBytes, bodies.disk.bytes, null),
        bytes('waiting_records', 'Records that wait to be stored', QUEUE_BYTES, writer.waitingBytes, null),
        count('held_updates', 'Updates of a project that wait for their records', config.HELD_UPDATES, 'HELD_UPDATES'),
        bytes('held_update_bytes', 'The same, in bytes', config.HELD_UPDATES_MB * MiB, null, 'HELD_UPDATES_MB'),
        count('dataset_rows', 'Rows of a dataset', config.DATASET_ROWS, 'DATASET_ROWS'),
        count('dataset_columns', 'Columns of a dataset', config.DATASET_COLUMNS, 'DATASET_COLUMNS'),
        bytes('row_memory', 'Answers that rows of a process hold', config.ROW_MEMORY_MB * MiB, null, 'ROW_MEMORY_MB'),
        count('metadata_connections', 'Connections to Postgres', config.POSTGRES_CONNECTIONS, 'POSTGRES_CONNECTIONS'),
        count('record_connections', 'Connections to ClickHouse', config.CLICKHOUSE_CONNECTIONS, 'CLICKHOUSE_CONNECTIONS'),
      ],
    };
  };

type Limit = ServiceState['limits'][number];

const bytes = (id: string, label: string, limit: number, used: number | null, setting: string | null): Limit => ({
  ...{ id, label, limit, used, setting },
  unit: 'bytes',
});
const count = (id: string, label: string, limit: number, setting: string): Limit => ({
  ...{ id, label, limit, setting },
  unit: 'count',
  used: null,
});

const embeddedParts = (config: Config): Record<PartId, boolean> => ({
  record_store: !config.CLICKHOUSE_URL,
  metadata_store: !config.DATABASE_URL,
  temporal: !config.TEMPORAL_ADDRESS,
  coordination: !config.REDIS_URL,
});
