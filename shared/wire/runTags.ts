import { z } from 'zod';
import { TagText, Timestamp, Uuid } from './common.ts';

export const RunTagCreateRequest = z
  .object({ key: TagText, value: TagText, tag_type: TagText })
  .meta({ id: 'RunTagCreateRequest' });
export type RunTagCreateRequest = z.output<typeof RunTagCreateRequest>;

export const RunTag = z
  .object({
    id: Uuid,
    key: z.string(),
    value: z.string(),
    tag_type: z.string(),
    project_id: Uuid,
    run_id: Uuid,
    created_by: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'RunTagDB' });
export const RunTags = z.array(RunTag);
