import { z } from 'zod';
import { UserInfo } from './accounts.ts';
import { PageBody, PageFields, Timestamp, Uuid } from './common.ts';

export const ExperimentGroupQuery = PageBody.nullish().transform((page) => page ?? { starting_token: 0, limit: 100 });

export const ExperimentGroupResponse = z
  .object({
    id: Uuid,
    name: z.string(),
    project_id: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
    description: z.string().nullable(),
    is_system: z.boolean(),
    experiment_count: z.int(),
    latest_run_date: Timestamp.nullable(),
    datasets: z.array(z.object({ id: Uuid, name: z.string() })),
    created_by: Uuid.nullable(),
    created_by_user: UserInfo.nullable(),
  })
  .meta({ id: 'ExperimentGroupResponse' });
export const ExperimentGroupPage = z.object({ ...PageFields, experiment_groups: z.array(ExperimentGroupResponse) });
