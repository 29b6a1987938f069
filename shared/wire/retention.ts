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
