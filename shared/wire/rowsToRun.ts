import { z } from 'zod';
import { Uuid } from './common.ts';

/** Ids or ordinals in one list. */
const MAX_LISTED = 10_000;

const State = z.enum(['missing', 'failed', 'stale']);

const parts = {
  ids: z.array(Uuid).min(1).max(MAX_LISTED).nullish().describe('The rows with these ids, `dataset_row_id` of their traces.'),
  ordinals: z
    .array(z.number().int().min(0))
    .min(1)
    .max(MAX_LISTED)
    .nullish()
    .describe('The rows at these positions, `dataset_row_ordinal` of their traces.'),
  trials: z
    .array(z.number().int().min(0))
    .min(1)
    .max(100)
    .nullish()
    .describe('Of the listed rows these trials, from 0; all by default.'),
  metric: z.string().min(1).max(255).nullish().describe('A metric of the experiment, by its name or the id of its column.'),
  state: z
    .array(State)
    .min(1)
    .nullish()
    .describe(
      'Rows whose value is not there, failed before this run, or is stale: older than its row, or made by another version of the scorer, other judges or another model. All by default.',
    ),
  again: z
    .enum(['scores', 'rows'])
    .nullish()
    .describe(
      '`scores` (default) computes these values and keeps the outputs; `rows` runs the rows again, and computes all their metrics.',
    ),
};

const Chosen = z.strictObject(parts).superRefine((given, context) => {
  const refuse = (message: string) => context.addIssue({ code: 'custom', message });
  const ways = (['ids', 'ordinals', 'metric'] as const).filter((way) => given[way] != null);
  if (ways.length !== 1) refuse(ways.length === 0 ? 'name ids, ordinals or a metric' : `give one of ${ways.join(' and ')}`);
  if (given.metric != null && given.trials != null) refuse('trials go with ids or ordinals');
  if (given.metric == null && (given.state != null || given.again != null)) refuse('state and again go with a metric');
});

/** The rows that a run is to execute. */
export const RowsToRunRequest = z
  .union([z.enum(['missing', 'failed', 'none']), Chosen])
  .describe(
    'Rows not recorded yet (default); those and the rows recorded as failed; none: scores only; the listed rows alone, once more; or those of a metric. What is not chosen stays as it is.',
  )
  .meta({
    id: 'ExperimentRowsToRun',
    examples: [
      'failed',
      { ordinals: [0, 3, 12] },
      { ids: ['5f3c1f0e-6f0b-4d5e-9a39-0c3d2f1b7a10'], trials: [0] },
      { metric: 'correctness', state: ['failed', 'stale'] },
      { metric: 'correctness', state: ['missing'], again: 'rows' },
    ],
  });
export type RowsToRunRequest = z.output<typeof RowsToRunRequest>;

/** The rows that the newest start of an experiment was asked to run again. */
export const RerunReply = z
  .object({
    again: z.enum(['rows', 'scores']),
    metric: z.string().nullable(),
    state: z.array(State).nullable(),
    executions: z
      .int()
      .nullable()
      .describe('Executions that are run again; null where only scores are, or while they are not chosen yet.'),
  })
  .meta({ id: 'ExperimentRerun' });
export type RerunReply = z.output<typeof RerunReply>;
