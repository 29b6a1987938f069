import { z } from 'zod';
import { BodyFlag, orDefault, PageFields, Uuid } from './common.ts';
import { NameOrText, Permission, UserInfo } from './datasets.ts';
import { IdFilter, NameFilter } from './listFilters.ts';

/** A key that may be absent or null, and then has this value. */
const ContentPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('file'), file_id: Uuid }),
]);
/** Any role is kept: a model may know its own. */
export const PromptMessage = z.looseObject({ content: z.union([z.string(), z.array(ContentPart)]), role: z.string().min(1) });

export const Template = z.union([z.string().min(1), z.array(PromptMessage).min(1)]);

/** Keys that are not known are kept: a run shows what of its settings a model is not sent. */
export const PromptRunSettings = z.looseObject({
  logprobs: BodyFlag(true),
  top_logprobs: orDefault(z.number().int(), 5),
  echo: BodyFlag(false),
  n: orDefault(z.number().int(), 1),
  reasoning_effort: orDefault(z.string(), 'medium'),
  verbosity: orDefault(z.string(), 'medium'),
  deployment_name: orDefault(z.string().nullable(), null),
  model_alias: orDefault(z.string(), 'gpt-5.1'),
  temperature: orDefault(z.number().nullable(), null),
  max_tokens: orDefault(z.number().int(), 4096),
  stop_sequences: orDefault(z.array(z.string()).nullable(), null),
  top_p: orDefault(z.number(), 1),
  top_k: orDefault(z.number().int(), 40),
  frequency_penalty: orDefault(z.number(), 0),
  presence_penalty: orDefault(z.number(), 0),
  tools: orDefault(z.array(z.record(z.string(), z.unknown())).nullable(), null),
  tool_choice: orDefault(
    z
      .union([z.string(), z.object({ type: orDefault(z.string(), 'function'), function: z.object({ name: z.string() }) })])
      .nullable(),
    null,
  ),
  response_format: orDefault(z.record(z.string(), z.unknown()).nullable(), null),
  seed: z.number().int().nullish(),
  include_reasoning: z
    .boolean()
    .nullish()
    .describe('True: the output begins with what the model thought, between <think> and </think>.'),
  // Filled by the service for clients that ask which models there are; not stored.
  known_models: z
    .unknown()
    .optional()
    .transform((): unknown[] => []),
});
export type PromptRunSettings = z.output<typeof PromptRunSettings>;

const versionFields = {
  template: Template,
  raw: BodyFlag(false),
  // Numbers are counted up per template; one that is sent is accepted and not used.
  version: z.number().int().nullish(),
  settings: PromptRunSettings.nullish().transform((given) => given ?? PromptRunSettings.parse({})),
  output_type: z.string().nullish(),
};

export const CreateVersionRequest = z.object(versionFields);
export type CreateVersionRequest = z.output<typeof CreateVersionRequest>;
export const CreateTemplateRequest = z.object({ ...versionFields, name: NameOrText, hidden: BodyFlag(false) });
export const UpdateTemplateRequest = z.object({ name: NameOrText.nullish() });

export const TemplateVersionResponse = z.object({
  template: Template,
  raw: z.boolean(),
  version: z.number().int(),
  settings: z.record(z.string(), z.unknown()),
  output_type: z.string().nullable(),
  id: z.string(),
  model_changed: z.boolean(),
  lines_added: z.number().int(),
  lines_edited: z.number().int(),
  lines_removed: z.number().int(),
  settings_changed: z.boolean(),
  content_changed: z.boolean(),
  created_at: z.string(),
  updated_at: z.string(),
  created_by_user: UserInfo.nullable(),
});

export const TemplateResponse = z.object({
  id: z.string(),
  permissions: z.array(Permission),
  name: z.string(),
  template: z.string(),
  selected_version: TemplateVersionResponse,
  selected_version_id: z.string(),
  all_versions: z.array(TemplateVersionResponse),
  all_available_versions: z.array(z.number().int()),
  total_versions: z.number().int(),
  max_version: z.number().int(),
  created_at: z.string(),
  updated_at: z.string(),
  created_by_user: UserInfo.nullable(),
});

export const TemplateFilter = z.discriminatedUnion('name', [
  NameFilter('name'),
  IdFilter('creator'),
  z.object({ name: z.literal('used_in_project'), value: Uuid }),
  z.object({ name: z.literal('not_in_project'), value: Uuid }),
]);
export type TemplateFilter = z.output<typeof TemplateFilter>;

const sorted = <N extends string>(name: N) =>
  z.object({ name: z.literal(name), ascending: BodyFlag(true), sort_type: orDefault(z.literal('column'), 'column') });

export const TemplateSort = z.discriminatedUnion('name', [sorted('name'), sorted('created_at'), sorted('updated_at')]);
export type TemplateSort = z.output<typeof TemplateSort>;
export const VersionSort = z.discriminatedUnion('name', [sorted('version'), sorted('created_at'), sorted('updated_at')]);
export type VersionSort = z.output<typeof VersionSort>;

export const ListTemplateParams = z
  .object({ filters: z.array(TemplateFilter).max(100).nullish(), sort: TemplateSort.nullish() })
  .nullish()
  .transform((body) => ({ filters: body?.filters ?? [], sort: body?.sort ?? null }));
export const ListVersionParams = z
  .object({ sort: VersionSort.nullish() })
  .nullish()
  .transform((body) => ({ sort: body?.sort ?? null }));

export const ListTemplateResponse = z.object({ ...PageFields, templates: z.array(TemplateResponse) });
export const ListTemplateVersionResponse = z.object({ ...PageFields, versions: z.array(TemplateVersionResponse) });

export const BulkDeleteTemplatesRequest = z.object({ template_ids: z.array(Uuid).min(1).max(100) });
export const BulkDeleteTemplatesResponse = z.object({
  deleted_count: z.number().int(),
  failed_deletions: z.array(z.object({ template_id: z.string(), reason: z.string() })),
  message: z.string(),
});

export const RenderTemplateRequest = z.object({
  template: z.string(),
  data: z.union([
    z.object({ dataset_id: Uuid, dataset_version_index: z.number().int().nullish() }),
    z.object({ input_strings: z.array(z.string()).max(100_000) }),
  ]),
});
export const RenderTemplateResponse = z.object({
  ...PageFields,
  rendered_templates: z.array(z.object({ result: z.string(), warning: z.string().nullable() })),
});
export const TemplateStubRequest = z.object({ templates: z.array(z.string()).max(100) });
