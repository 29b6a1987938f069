import { z } from 'zod';
import { BodyFlag, orDefault, PageFields, Uuid } from './common.ts';
import { NameFilter, TimeFilter, trimmed } from './listFilters.ts';
import { ScorerResponse } from './scorers.ts';
import { ScorerVersionResponse } from './scorerVersions.ts';

const textOrTexts = z.union([z.string(), z.array(z.string())]);
const equality = z.enum(['eq', 'ne', 'one_of', 'not_in']);
const matching = z.enum(['eq', 'ne', 'contains', 'one_of', 'not_in']);
const collection = z.enum(['eq', 'contains', 'one_of', 'not_in']);

const ScorerFilter = z.discriminatedUnion('name', [
  NameFilter('name', false),
  z
    .object({
      name: z.literal('label'),
      operator: matching,
      value: textOrTexts,
      case_sensitive: BodyFlag(true),
      // false: a value that matches no label may match the scorer's name
      strict: BodyFlag(true),
    })
    .transform((filter) => (filter.operator === 'contains' ? filter : { ...filter, value: trimmed(filter.value) })),
  z.object({ name: z.literal('id'), operator: orDefault(matching, 'eq'), value: textOrTexts }),
  z.object({ name: z.literal('creator'), operator: orDefault(matching, 'eq'), value: textOrTexts }),
  z.object({ name: z.literal('scorer_type'), operator: equality, value: textOrTexts }),
  z.object({ name: z.literal('model_type'), operator: equality, value: textOrTexts }),
  z.object({ name: z.literal('tags'), operator: collection, value: textOrTexts, case_sensitive: BodyFlag(true) }),
  z.object({
    name: z.literal('scoreable_node_types'),
    operator: collection,
    value: textOrTexts,
    case_sensitive: BodyFlag(true),
  }),
  z.object({
    name: z.literal('multimodal_capabilities'),
    operator: collection,
    value: textOrTexts,
    case_sensitive: BodyFlag(true),
  }),
  TimeFilter('created_at'),
  TimeFilter('updated_at'),
  z.object({ name: z.literal('is_global'), operator: orDefault(z.enum(['eq', 'ne']), 'eq'), value: z.boolean() }),
  z.object({
    name: z.literal('scope_projects'),
    project_ids: z.array(Uuid).min(1).max(1000),
    include_global: BodyFlag(false),
  }),
  z.object({ name: z.literal('exclude_slm_scorers') }),
  z.object({ name: z.literal('exclude_multimodal_scorers') }),
]);
export type ScorerFilter = z.output<typeof ScorerFilter>;

const ScorerSort = z.discriminatedUnion('name', [
  z.object({ name: z.literal('name'), ascending: BodyFlag(true), sort_type: orDefault(z.literal('column'), 'column') }),
  z.object({
    name: z.literal('updated_at'),
    ascending: BodyFlag(true),
    sort_type: orDefault(z.literal('column'), 'column'),
  }),
  z.object({
    name: z.literal('enabled_in_run'),
    ascending: BodyFlag(true),
    sort_type: orDefault(z.literal('custom_uuid'), 'custom_uuid'),
    value: Uuid,
  }),
  z.object({
    name: z.literal('enabled_in_playground'),
    ascending: BodyFlag(true),
    sort_type: orDefault(z.literal('custom_uuid'), 'custom_uuid'),
    value: Uuid,
  }),
]);
export type ScorerSort = z.output<typeof ScorerSort>;

/** Each value is compared with every scorer. */
const MAX_FILTER_VALUES = 1_000;
const ScorerFilters = z
  .array(ScorerFilter)
  .max(100)
  .refine(
    (filters) =>
      filters.reduce((sum, one) => sum + ('value' in one && Array.isArray(one.value) ? one.value.length : 1), 0) <=
      MAX_FILTER_VALUES,
    `the filters have at most ${MAX_FILTER_VALUES} values in all: ask for fewer`,
  );

export const ListScorersRequest = z
  .object({ filters: ScorerFilters.nullish(), sort: ScorerSort.nullish() })
  .nullish()
  .transform((body) => ({ filters: body?.filters ?? [], sort: body?.sort ?? null }));

export const ListScorersResponse = z.object({ ...PageFields, scorers: z.array(ScorerResponse) });
export const ListScorerVersionsResponse = z.object({ ...PageFields, versions: z.array(ScorerVersionResponse) });
