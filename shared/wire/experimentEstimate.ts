import { z } from 'zod';
import { Uuid } from './common.ts';
import { RunnerRequest } from './experimentRuns.ts';
import { Trials } from './experiments.ts';
import { RowSelectionReply, RowSelectionRequest } from './rowSelection.ts';
import { ScorerConfig } from './scorers.ts';

/** A run that is not started: what creating the experiment and starting it would be given. */
export const EstimateRequest = z
  .strictObject({
    dataset: z.strictObject({
      dataset_id: Uuid,
      version_index: z.int32().nullish().describe('The current one by default.'),
    }),
    runner: RunnerRequest.nullish().describe('`dataset_outputs` by default.'),
    scorers: z.array(ScorerConfig).max(200).nullish(),
    rows: RowSelectionRequest.nullish(),
    trials: Trials,
  })
  .meta({ id: 'ExperimentEstimateRequest' });

const cost = z.number().nullable().describe('US dollars; null where it is not known.');
const tokens = z.int().nullable().describe('Over all calls; null where nothing says it.');

const CallEstimate = {
  calls: z.int().nullable().describe('Calls of a model; null where nothing says it.'),
  input_tokens: tokens,
  output_tokens: tokens,
  cost,
  unknown: z.string().nullable().describe('Why the cost is not known; null where it is.'),
};

export const EstimateReply = z
  .object({
    rows: z.int().describe('Rows that would run.'),
    trials: z.int(),
    executions: z.int().describe('Rows times trials.'),
    row_selection: RowSelectionReply.nullable(),
    sampled_rows: z.int().describe('Rows that the estimate was made of, evenly from all that would run.'),
    run: z
      .object({
        ...CallEstimate,
        model: z.string().nullable().describe('As `integration/model`; null where no model of an integration runs the rows.'),
        most_cost: cost.describe('US dollars if each answer were as long as `max_tokens` allows; null where it is not known.'),
        answers: z
          .enum(['reference', 'assumed', 'none'])
          .describe(
            'What the length of an answer is taken from: the reference outputs of the rows, an assumption of 500 tokens, or nothing, where no model is called.',
          ),
      })
      .describe('The calls of the model under test. Of a function, module or address it is not known what they call.'),
    metrics: z.array(
      z.object({
        ...CallEstimate,
        scorer_id: Uuid,
        name: z.string(),
        judge_model: z.string().nullable().describe('Null of a metric that none judges.'),
        lacking: z
          .object({ rows: z.int().describe('Of the sampled rows.'), message: z.string() })
          .nullable()
          .describe('Rows that can have no value, and why; null where none is known.'),
      }),
    ),
    cost: cost.describe('US dollars of the calls whose price is known; null where that is none of them.'),
    is_whole: z.boolean().describe('Whether `cost` has all of them.'),
  })
  .meta({ id: 'ExperimentEstimate' });
export type EstimateReply = z.output<typeof EstimateReply>;
