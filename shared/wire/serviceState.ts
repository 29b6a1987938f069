import { z } from 'zod';

export const ServicePart = z.object({
  id: z.enum(['record_store', 'metadata_store', 'temporal', 'coordination']),
  label: z.string(),
  /** It runs inside the service, or as its child; else it is a server beside it. */
  is_embedded: z.boolean(),
  /** Without it the service is not ready; without the others only what needs them waits. */
  is_needed: z.boolean(),
  answers: z.boolean(),
  /** How long its answer took; null where it did not come. */
  latency_ms: z.number().nullable(),
});

export const ServiceQueue = z.object({
  name: z.enum(['control', 'rows', 'scoring', 'maintenance']),
  task_queue: z.string(),
  /** Worker processes that have asked for work of the queue within the last 70 s; null where Temporal does not say. */
  workers: z.number().int().nullable(),
});

export const ServiceLimit = z.object({
  id: z.string(),
  label: z.string(),
  limit: z.number(),
  unit: z.enum(['bytes', 'count']),
  /** Use of it by this process now; null where that is not one figure. */
  used: z.number().nullable(),
  /** The environment variable that sets it; null where it is fixed. */
  setting: z.string().nullable(),
});

/** The parts of the service, as the answering process sees them. */
export const ServiceState = z
  .object({
    version: z.string(),
    /** When the process that answers started. */
    started_at: z.iso.datetime(),
    is_ready: z.boolean(),
    /** `ready`, or what is wrong, in sentences. */
    message: z.string(),
    parts: z.array(ServicePart),
    queues: z.array(ServiceQueue),
    /** Space on the disk with the data folder; null where all data is on servers. */
    disk: z.object({ free_bytes: z.number(), total_bytes: z.number() }).nullable(),
    limits: z.array(ServiceLimit),
  })
  .meta({ id: 'ServiceState' });
export type ServiceState = z.output<typeof ServiceState>;
