import { z } from 'zod';
import { annotationTypes } from './annotationRatings.ts';
import { Uuid } from './common.ts';
import { LogRecordsQueryCountRequest, StepType } from './recordSearch.ts';

const Name = z.string().trim().min(1).max(1000);

export const JudgeAgreementRequest = LogRecordsQueryCountRequest.extend({
  metric: Name.describe('Name or id of a scorer, name of a built-in metric, or the column `metrics/…`.'),
  template_ids: z
    .array(Uuid)
    .max(100)
    .nullish()
    .describe('Annotation templates; without them and a queue all by which these records can be rated.'),
  queue_id: Uuid.nullish().describe('An annotation queue: its templates alone.'),
  scoreable_node_types: z.array(StepType).max(20).nullish().describe('Kinds of records; without them all.'),
  judge_threshold: z.number().nullish().describe('From which number on the judge says yes. Without it the middle of its range.'),
  people_threshold: z
    .number()
    .nullish()
    .describe('From how many stars or points on people say yes; without it 4 stars, or the middle of the scores.'),
}).meta({ id: 'JudgeAgreementRequest' });

const figure = z.number().nullable();
const KappaFigures = z
  .object({
    observed_agreement: figure.describe('Share of the pairs that agree; weighted, of nearness.'),
    expected_agreement: figure.describe('The same if both sides chose their labels independently, each as often as it did.'),
    kappa: figure.describe("Cohen's kappa: null, never 0, where a side gave one label alone."),
    standard_error: figure.describe('Null where no pair disagrees: then nothing determines it.'),
    interval: z.object({ low: z.number(), high: z.number(), level: z.number() }).nullable(),
  })
  .meta({ id: 'KappaFigures' });
export type KappaFigures = z.input<typeof KappaFigures>;

const TemplateAgreement = z
  .object({
    template_id: Uuid,
    template_name: z.string(),
    queue_id: Uuid,
    annotation_type: z.enum(annotationTypes),
    rule: z.string().nullable().describe('How values and ratings are mapped to labels; null where they cannot be.'),
    judge_threshold: figure,
    people_threshold: figure,
    is_ordered: z.boolean(),
    labels: z.array(z.string()).describe('Of both sides, in the order of the table.'),
    table: z
      .array(z.array(z.int()))
      .describe('Records to which the judge gives the label of the row and people that of the column.'),
    pairs: z.int().describe('Records with a label of both sides: what all figures are of.'),
    ...KappaFigures.shape,
    weighted: KappaFigures.nullable().describe('With quadratic weights: of ordered labels alone.'),
    reason: z.string().nullable().describe('Why kappa is null.'),
    judge_only: z.int().describe('Records with a value of the judge and without a rating.'),
    people_only: z.int().describe('Records with a rating and without a value of the judge.'),
    undecided: z.int().describe('Records with both of which people are of two minds; they are no pairs.'),
    unreadable: z.int().describe('Records with both where one of them is no label; they are no pairs.'),
    disagreements: z
      .array(z.object({ record_id: Uuid, judged_record_id: Uuid, judge: z.string(), people: z.string() }))
      .describe('Pairs that disagree, the newest 100: the record that people rated, and the one that has the value.'),
  })
  .meta({ id: 'TemplateAgreement' });

export const JudgeAgreementResponse = z
  .object({
    metric: z.string(),
    label: z.string(),
    records: z.int().describe('Records that were looked at.'),
    is_cut: z.boolean().describe('True where more records match than are looked at: the newest are.'),
    with_value: z.int().describe('Records of these with a value of the judge.'),
    agreements: z.array(TemplateAgreement),
  })
  .meta({ id: 'JudgeAgreementResponse' });
