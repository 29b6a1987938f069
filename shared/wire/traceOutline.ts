import { z } from 'zod';
import { Uuid } from './common.ts';
import { StepType } from './recordSearch.ts';

export const TraceOutlineResponse = z
  .object({
    trace_id: Uuid,
    run_id: Uuid,
    session_id: Uuid.nullable(),
    is_complete: z.boolean(),
    /** Time of the first record of the columns. */
    start_time: z.string(),
    columns: z
      .object({
        id: z.array(Uuid),
        /** Place of the record that it hangs below; -1 for the trace, and for each at the top where the trace itself has not come. */
        parent: z.array(z.int()),
        type: z.array(StepType),
        name: z.array(z.string()),
        /** Microseconds after `start_time`, which clocks that differ make negative. */
        start_us: z.array(z.int()),
        duration_ns: z.array(z.number().nullable()),
        num_total_tokens: z.array(z.number().nullable()),
        cost: z.array(z.number().nullable()),
        model: z.array(z.string().nullable()),
        status_code: z.array(z.int().nullable()),
        /** True where it failed: with an error message, or a status code from 400 on. */
        failed: z.array(z.boolean()),
      })
      .describe(
        'One array a column, all of the same length: the trace, then each span before those below it, in the order in which they ran.',
      ),
  })
  .meta({ id: 'TraceOutline' });
export type TraceOutline = z.output<typeof TraceOutlineResponse>;
