import { z } from 'zod';
import { NameOf, TagText, Uuid } from './common.ts';

const number = z.number().nullable();
const count = z.int();
const text = z.string().min(1).max(1_000);

export const GateStatus = z
  .enum(['passed', 'failed', 'undecided'])
  .describe(
    '`undecided`: the rows do not tell whether a metric dropped by more than it may, or fewer than half of them have a value.',
  );
export type GateStatus = z.output<typeof GateStatus>;

export const GateRequest = z
  .strictObject({
    experiment_id: Uuid,
    baseline: z
      .strictObject({
        experiment_id: Uuid.nullish(),
        tag: z
          .strictObject({ key: NameOf(256), value: TagText })
          .nullish()
          .describe('The experiment with this tag that ended last, such as the last one of a branch.'),
        name: NameOf(1_000)
          .nullish()
          .describe(
            'The newest run of this name that ended with rows that did not fail, an earlier one where there is one; of the own series always an earlier one. The whole name of one run: that run.',
          ),
        pick: z
          .enum(['newest', 'approved', 'passed'])
          .nullish()
          .describe(
            'Of the earlier runs of its series, or of the experiments with the tag or of the name: the one that ended last, the last that is approved, or the last of those ' +
              'that passed every gate or are approved. With a tag or name alone it is `newest`.',
          ),
      })
      .nullish()
      .describe(
        'What the experiment is held against: an id, a tag, a name, a pick, or a pick beside a tag or name. Without it, absolute limits alone count.',
      ),
    metrics: z
      .array(
        z.strictObject({
          metric: text,
          max_drop: z
            .number()
            .min(0)
            .nullish()
            .describe(
              'Largest allowed change for the worse against the baseline, in units of the metric: 0.02 are two points of a share.',
            ),
          min: z.number().nullish().describe('What the figure of the experiment must reach.'),
          max: z.number().nullish().describe('What it must not exceed.'),
        }),
      )
      .max(50)
      .nullish(),
    max_failed: z.number().min(0).max(1).nullish().describe('Largest share of failed rows.'),
    failed_rows: z
      .enum(['omit', 'worst'])
      .nullish()
      .describe('What failed rows count as: nothing, or the worst value of a metric. Without it, as the experiment says.'),
    level: z
      .number()
      .min(0.5)
      .max(0.9999)
      .nullish()
      .describe('At which all intervals hold together (Bonferroni); 0.95 without it.'),
  })
  .meta({
    id: 'GateExperimentRequest',
    examples: [
      {
        experiment_id: 'b8f2a7de-93a4-4a0b-8e64-5d0a4d7a9c02',
        baseline: { tag: { key: 'branch', value: 'main' } },
        metrics: [{ metric: 'exact_match', max_drop: 0.02, min: 0.8 }],
        max_failed: 0.05,
      },
    ],
  });

const GateCheck = z
  .object({
    rule: z.enum(['max_drop', 'min', 'max', 'max_failed']),
    metric: z.string().nullable().describe('Null for the share of failed rows.'),
    limit: z.number(),
    status: GateStatus,
    value: number.describe('The figure of the experiment: of a drop its mean over the rows of both.'),
    baseline_value: number,
    difference: number,
    interval: z.object({ low: z.number(), high: z.number(), level: z.number() }).nullable(),
    rows: count.describe('What the figure is made of: of a drop the rows with a value on both sides.'),
    rows_to_decide: count
      .nullable()
      .describe(
        'Of an undecided check: how many rows would tell, if the difference stays as it is. Null where that cannot be said.',
      ),
    reason: z.string(),
  })
  .meta({ id: 'GateCheck' });

const GatedExperiment = z
  .object({
    id: Uuid,
    name: z.string(),
    rows: count,
    failed_rows: count,
    tags: z.record(z.string(), z.string()).describe('Such as the commit, the branch and the build that ran it.'),
  })
  .meta({ id: 'GatedExperiment' });

export const GateReply = z
  .object({
    status: GateStatus,
    experiment: GatedExperiment,
    baseline: GatedExperiment.nullable(),
    baseline_choice: z.string().nullable().describe('In words: why this one is the baseline. Null without one.'),
    level: z.number(),
    checks: z.array(GateCheck),
    reasons: z.array(z.string()).describe('Of the checks that did not pass.'),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'GateExperimentResponse' });
