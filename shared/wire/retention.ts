import { z } from 'zod';

/** Days of 24 hours. */
const Days = z.int().min(1).max(36_500).nullable();

/** Absent days would be taken for null, and null deletes nothing: still, a change must say what it wants. */
export const RetentionRequest = z.strictObject({ retention_days: Days });
export const RetentionResponse = z.object({
  project_id: z.string(),
  /** Null: records are kept for ever. */
  retention_days: Days,
  /** Records of traces whose newest record is older than this are not shown. Null: nothing expires. */
  expired_before: z.string().nullable(),
});

export const RetentionEffectQuery = z.object({ retention_days: z.coerce.number().pipe(z.int().min(1).max(36_500)) });

/** The records that a retention would delete of a project now, beside those that have expired by the present one. */
export const RetentionEffect = z
  .object({
    project_id: z.string(),
    retention_days: z.int(),
    /** Traces whose newest record is older would go. */
    expired_before: z.string(),
    traces: z.number().int(),
    /** Records of these traces, the traces themselves included. */
    records: z.number().int(),
    /** Time of the oldest of them; null without one. */
    oldest: z.string().nullable(),
  })
  .meta({ id: 'RetentionEffect' });
