import { z } from 'zod';
import { Timestamp, Uuid } from './common.ts';
import { FilterExpression } from './filters.ts';
import { ABSENT, jsonPart, part } from './formParts.ts';
import { isObject } from './isObject.ts';
import { ProjectOfTryOut, SampleLimit, tried } from './judgeTryOut.ts';
import { SortClause } from './recordSearch.ts';
import { ChainAggregation, CodeScoreType, NodeType } from './scorers.ts';

/** Bytes of the code of a metric: it goes along with every version, and is frozen with each run that it scores. */
export const MAX_CODE_BYTES = 64 * 1024;
/** Bytes of a form with code. */
export const CODE_BODY_LIMIT = 1024 * 1024;

/** A part that was sent once or several times, or once with a JSON list; an empty one means none. */
const ListPart = z
  .union([z.string(), z.array(z.string())])
  .nullish()
  .transform((given, context): string[] => {
    const texts = given === ABSENT ? [] : [given ?? []].flat();
    try {
      return texts.flatMap((text) => (text.trim().startsWith('[') ? z.array(z.string()).parse(JSON.parse(text)) : text || []));
    } catch {
      context.addIssue({ code: 'custom', message: 'must be texts, or one JSON list of texts' });
      return z.NEVER;
    }
  });

/** Parts that may come several times. */
export const listParts = ['scoreable_node_types', 'required_scorers', 'required_metric_ids'] as const;

// A part without a file name arrives as text.
const file = z.union([z.file(), z.string().transform((text) => new Blob([text]))]);

const codePart = {
  file: file.describe('The source, in Python or JavaScript, in UTF-8.'),
  required_scorers: ListPart,
  required_metric_ids: ListPart.describe(
    'The ids of the required metrics in the same order, as a scorer has them: one that was renamed since keeps its name.',
  ),
  scoreable_node_types: ListPart,
};

export const ValidateCodeForm = z.object({ ...codePart, test_input: z.string().nullish(), test_output: z.string().nullish() });
export const ValidateCodeScorerResponse = z.object({ task_id: Uuid });

const numberPart = (schema: z.ZodType<number, number>) => part(z.coerce.number().pipe(schema));
/** A list means that all hold. */
const AnyFilter = z
  .unknown()
  .transform((given) => (Array.isArray(given) ? { and: given } : given))
  .pipe(FilterExpression);
const place = { limit: numberPart(SampleLimit), starting_token: numberPart(z.int().min(0)) };

export const ValidateCodeLogRecordForm = z.object({
  ...codePart,
  log_stream_id: part(Uuid),
  experiment_id: part(Uuid),
  ...place,
  filters: part(jsonPart(AnyFilter)).describe('JSON text: the list `filters` of a search, or its `filter_tree`.'),
  sort: part(jsonPart(SortClause)).describe('JSON text: the `sort` of a search.'),
});

export const ValidateCodeDatasetForm = z.object({
  ...codePart,
  dataset_id: Uuid,
  dataset_version_index: numberPart(z.int().min(0)),
  ...place,
  score_type: part(CodeScoreType),
  project_id: part(ProjectOfTryOut),
});

export const ValidateCodeTryOutResponse = z
  .object({ metrics_experiment_id: Uuid, ...tried })
  .meta({ id: 'ValidateScorerLogRecordResponse' });

const ValidResult = z.object({
  result_type: z.literal('valid'),
  score_type: CodeScoreType,
  scoreable_node_types: z.array(NodeType),
  include_llm_credentials: z.boolean(),
  chain_aggregation: ChainAggregation.nullish(),
  test_scores: z.array(
    z.object({ node_type: NodeType, score: z.union([z.number(), z.string(), z.boolean()]).nullable() }).meta({ id: 'TestScore' }),
  ),
});
export type ValidResult = z.output<typeof ValidResult>;
const InvalidResult = z.object({ result_type: z.literal('invalid'), error_message: z.string() });

export const ValidateRegisteredScorerResult = z.object({
  result: z.discriminatedUnion('result_type', [ValidResult, InvalidResult]),
});
export type ValidateRegisteredScorerResult = z.output<typeof ValidateRegisteredScorerResult>;

export const RegisteredScorerTaskResultResponse = z.object({
  id: Uuid,
  created_at: Timestamp,
  updated_at: Timestamp,
  status: z.enum(['pending', 'completed', 'failed']),
  result: z.union([ValidateRegisteredScorerResult, z.string()]).nullable(),
});

/** The result of a validation as a client hands it back: the answer of the task, what it has as its `result`, or the result in that. */
const HandedBack = jsonPart(z.unknown().transform(resultIn).pipe(ValidateRegisteredScorerResult.shape.result));

/** Adds the fields that the interface has defaults for. */
function resultIn(value: unknown): unknown {
  if (!isObject(value)) return value;
  if ('result' in value) return resultIn(value.result);
  return { result_type: 'error_message' in value ? 'invalid' : 'valid', include_llm_credentials: false, ...value };
}

export const CreateCodeVersionForm = z.object({ file, validation_result: HandedBack });
