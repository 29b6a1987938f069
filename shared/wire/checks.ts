import { z } from 'zod';
import { AnyValue } from './recordParts.ts';

/** Characters of a pattern or of a text that is looked for, and of a schema. */
const MAX_PATTERN = 2_000;
const MAX_SCHEMA = 50_000;

const Wanted = z.array(z.string().min(1).max(MAX_PATTERN)).min(1).max(100).describe('Texts to look for in the output.');
const ignoreCase = z.boolean().optional().describe('Upper and lower case alike. False where it is absent.');

const ExpectedCall = z
  .object({ name: z.string().min(1).max(255), arguments: z.record(z.string(), AnyValue).optional() })
  .describe('A call of a tool; without `arguments` they may be any.');

/** How what a record did is compared with what was expected. */
const CompareMode = z
  .enum(['strict', 'in_order', 'any_order', 'subset'])
  .describe(
    '`strict`: these in this order and no others; `in_order`: these in this order, and maybe others between; `any_order`: these and no others; `subset`: these, and maybe others.',
  );

/** The checks of a scorer of code: each is true or false of one record. */
export const Check = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('regex').describe('The output has a part that matches.'),
      pattern: z.string().min(1).max(MAX_PATTERN).describe('In the syntax of RE2: no look-around and no back-references.'),
      ignore_case: ignoreCase,
    }),
    z.object({
      type: z.literal('contains_all').describe('The output has all of the texts.'),
      texts: Wanted,
      ignore_case: ignoreCase,
    }),
    z.object({
      type: z.literal('contains_any').describe('The output has one of the texts.'),
      texts: Wanted,
      ignore_case: ignoreCase,
    }),
    z.object({
      type: z.literal('json_schema').describe('The output is JSON that fits the schema.'),
      schema: z
        .record(z.string(), AnyValue)
        .refine(
          (schema) => JSON.stringify(schema).length <= MAX_SCHEMA,
          `the schema has at most ${MAX_SCHEMA} characters as JSON`,
        )
        .describe('JSON Schema, draft 7; patterns in the syntax of RE2.'),
    }),
    z.object({
      type: z.literal('edit_distance').describe('The output is near the reference output.'),
      max: z.int().min(0).describe('Characters that may be put in, left out or replaced.'),
    }),
    z.object({
      type: z.literal('embedding_similarity').describe('The output means about the same as the reference output.'),
      model: z
        .string()
        .min(1)
        .max(255)
        .describe(
          'An embedding model of an integration whose endpoint has `/embeddings` as OpenAI has it; `integration/model` names both.',
        ),
      threshold: z
        .number()
        .min(-1)
        .max(1)
        .optional()
        .describe('Least cosine similarity of the two embeddings. 0.75 where it is absent.'),
    }),
    z.object({
      type: z.literal('tool_calls').describe('The record made the calls of tools that were expected.'),
      mode: CompareMode,
      calls: z
        .array(ExpectedCall)
        .max(100)
        .optional()
        .describe('The same for all rows. Where it is absent, those that the reference output of the row lists.'),
    }),
    z.object({
      type: z.literal('trajectory').describe('The steps of the record were the expected ones.'),
      mode: CompareMode,
      steps: z
        .array(z.string().min(1).max(255))
        .max(100)
        .optional()
        .describe('Names of spans, the same for all rows. Where it is absent, those that the reference output of the row lists.'),
      kinds: z
        .array(z.enum(['agent', 'tool', 'workflow', 'retriever', 'llm', 'control']))
        .min(1)
        .optional()
        .describe('Kinds of span that are steps. `agent` and `tool` where it is absent.'),
    }),
    z.object({
      type: z.literal('latency').describe('The record took no longer than the limit.'),
      max_ms: z.number().positive().describe('Milliseconds.'),
    }),
    z.object({
      type: z.literal('cost').describe('The model calls of the record cost no more than the limit.'),
      max_usd: z.number().positive().describe('US dollars.'),
    }),
  ])
  .meta({ id: 'ScorerCheck' });
export type Check = z.output<typeof Check>;
