import { z } from 'zod';
import { AnyNumber } from './anyNumber.ts';
import { BodyFlag, NameOf, orDefault, PageFields, PageQuery, Uuid } from './common.ts';
import { jsonPart, part } from './formParts.ts';
import { IdFilter, NameFilter } from './listFilters.ts';
import { mapOf } from './mapOf.ts';

/** The user who made or changed something. */
export const UserInfo = z.object({
  id: z.string(),
  email: z.string(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
});
export type UserInfo = z.output<typeof UserInfo>;

export const Permission = z.object({ action: z.string(), allowed: z.boolean(), message: z.string().nullish() });

const datasetActions = z.enum(['update', 'delete', 'share', 'export', 'rename']);
export const everyDatasetAction = datasetActions.options;

/** One value or several of a repeated query parameter. */
export const ActionsQuery = z
  .union([datasetActions.transform((one) => [one]), z.array(datasetActions)])
  .optional()
  .transform((actions) => actions ?? []);

const isNameText = (text: string) => text.isWellFormed() && !text.includes('\u0000');
export const NameText = NameOf(128).refine(isNameText, 'text that cannot be stored (NUL or a lone surrogate)');

/** A name: plain text, or an object that may ask for a suffix when the name is taken. */
export const NameOrText = z.union([
  NameText.transform((value) => ({ value, appendSuffix: false })),
  z
    .object({ value: NameText, append_suffix_if_duplicate: z.boolean().nullish() })
    .transform(({ value, append_suffix_if_duplicate }) => ({ value, appendSuffix: append_suffix_if_duplicate ?? false })),
]);

/** A boolean sent as text, in any case (`True` as one client sends it). */
const FormFlag = z
  .string()
  .trim()
  .toLowerCase()
  .pipe(z.enum(['true', 'false', '1', '0', '']))
  .transform((text) => text === 'true' || text === '1');

/** Columns that one target of a mapping may take: as many as a dataset may have at most. */
const mappedColumns = z.array(z.string()).max(10_000);
const mapped = z.union([
  mappedColumns.transform((columns) => ({ columns, flatten: false })),
  z
    .object({ columns: mappedColumns, flatten: z.boolean().nullish() })
    .transform(({ columns, flatten }) => ({ columns, flatten: flatten ?? false })),
]);

export const ColumnMapping = z.looseObject({
  input: mapped.nullish(),
  output: mapped.nullish(),
  generated_output: mapped.nullish(),
  metadata: mapped.nullish(),
  // Columns that hold the reference value of a metric, by metric.
  mgt: mapOf(z.string(), mapped.nullable()).nullish(),
});
export type ColumnMapping = z.output<typeof ColumnMapping>;

export const DatasetFormat = z.enum(['csv', 'feather', 'json', 'jsonl']);
export type DatasetFormat = z.output<typeof DatasetFormat>;

export const DownloadDatasetQuery = z.object({
  format: z.enum(['csv', 'jsonl']).default('csv'),
  spreadsheet_safe: FormFlag.default(false),
  byte_order_mark: FormFlag.default(false),
});

/** Names of the separators of a CSV, for shells and URLs that make the character hard to write. */
const delimiterNames = { comma: ',', semicolon: ';', tab: '\t', pipe: '|', auto: undefined } as const;
export const CsvDelimiter = z.union([
  z.enum([',', ';', '\t', '|']),
  z.enum(['comma', 'semicolon', 'tab', 'pipe', 'auto']).transform((name) => delimiterNames[name]),
]);

export const CreateDatasetQuery = z.object({
  format: DatasetFormat.default('csv'),
  hidden: FormFlag.default(false),
  delimiter: CsvDelimiter.optional().describe('Of a CSV file; `auto` detects it'),
});

export const CreateDatasetForm = z.object({
  draft: FormFlag.nullish(),
  hidden: FormFlag.nullish(),
  name: part(NameText),
  append_suffix_if_duplicate: FormFlag.nullish(),
  // A part without a file name arrives as text.
  file: z.union([z.file(), z.string().transform((text) => new Blob([text]))]).nullish(),
  copy_from_dataset_id: part(Uuid),
  copy_from_dataset_version_index: part(z.coerce.number().int()),
  project_id: part(Uuid),
  column_mapping: part(jsonPart(ColumnMapping.nullable())),
});
export type CreateDatasetForm = z.output<typeof CreateDatasetForm>;

export const UpdateDatasetRequest = z.object({
  name: NameOrText.nullish(),
  column_mapping: ColumnMapping.nullish(),
  draft: z.literal(false).nullish(),
});

export const DatasetResponse = z.object({
  id: z.string(),
  permissions: z.array(Permission),
  name: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  project_count: z.number().int(),
  num_rows: z.number().int().nullable(),
  column_names: z.array(z.string()).nullable(),
  created_by_user: UserInfo.nullable(),
  current_version_index: z.number().int(),
  draft: z.boolean(),
});

/** The dataset, and how its file was read. */
export const CreatedDatasetResponse = DatasetResponse.extend({
  csv: z
    .object({
      delimiter: z.string(),
      empty_rows_skipped: z.number().int().describe('Rows of delimiters alone, which are no rows of the dataset'),
    })
    .optional(),
});

export const ListDatasetResponse = z.object({ ...PageFields, datasets: z.array(DatasetResponse) });

export const DatasetFilter = z.discriminatedUnion('name', [
  NameFilter('name'),
  z.object({ name: z.literal('draft'), operator: orDefault(z.enum(['eq', 'ne']), 'eq'), value: z.boolean() }),
  z.object({ name: z.literal('used_in_project'), value: Uuid }),
  z.object({ name: z.literal('not_in_project'), value: Uuid }),
  IdFilter('id'),
]);
export type DatasetFilter = z.output<typeof DatasetFilter>;

const columnSort = <N extends string>(name: N) =>
  z.object({ name: z.literal(name), ascending: BodyFlag(true), sort_type: orDefault(z.literal('column'), 'column') });
const uuidSort = <N extends string>(name: N) =>
  z.object({
    name: z.literal(name),
    ascending: BodyFlag(true),
    sort_type: orDefault(z.literal('custom_uuid'), 'custom_uuid'),
    value: Uuid,
  });

export const DatasetSort = z.discriminatedUnion('name', [
  columnSort('name'),
  columnSort('created_at'),
  columnSort('updated_at'),
  uuidSort('project_last_used_at'),
  z.object({ name: z.literal('project_count'), ascending: BodyFlag(true), sort_type: orDefault(z.literal('custom'), 'custom') }),
  columnSort('num_rows'),
  uuidSort('last_edited_by_user_at'),
]);
export type DatasetSort = z.output<typeof DatasetSort>;

export const ListDatasetParams = z
  .object({ filters: z.array(DatasetFilter).max(100).nullish(), sort: DatasetSort.nullish() })
  .nullish()
  .transform((body) => ({ filters: body?.filters ?? [], sort: body?.sort ?? null }));

export const BulkDeleteDatasetsRequest = z.object({ dataset_ids: z.array(Uuid).min(1).max(100) });
export const BulkDeleteDatasetsResponse = z.object({
  deleted_count: z.number().int(),
  failed_deletions: z.array(z.object({ dataset_id: z.string(), dataset_name: z.string(), reason: z.string() })),
  message: z.string(),
});

// Content

export const Cell = z.union([z.string(), AnyNumber, z.record(z.string(), z.union([z.string(), AnyNumber, z.null()])), z.null()]);

export const ColumnName = z.string().min(1).max(255).refine(isNameText, 'a column name cannot hold NUL or a lone surrogate');

/** Cells as callers give them. What is no cell kind (a boolean, a list, a nested object) is stored as its JSON text. */
const GivenCells = mapOf(ColumnName, z.unknown());
const columnName = z.string().max(255);

export const DatasetEdit = z.discriminatedUnion('edit_type', [
  z.object({ edit_type: z.literal('prepend_row'), values: GivenCells, row_id: Uuid.nullish() }),
  z.object({ edit_type: z.literal('append_row'), values: GivenCells, row_id: Uuid.nullish() }),
  z.object({ edit_type: z.literal('update_row'), row_id: Uuid, values: GivenCells }),
  z.object({ edit_type: z.literal('delete_row'), row_id: Uuid }),
  z.object({ edit_type: z.literal('filter_rows'), row_ids: z.array(Uuid).min(1) }),
  z.object({
    edit_type: z.literal('copy_record_data'),
    project_id: Uuid.nullish(),
    queue_id: Uuid.nullish(),
    ids: z.array(Uuid).min(1).max(1000),
    prepend: BodyFlag(true),
    use_generated_output_column: BodyFlag(false),
  }),
  z.object({ edit_type: z.literal('remove_column'), column_name: columnName }),
  z.object({ edit_type: z.literal('rename_column'), column_name: columnName, new_column_name: ColumnName }),
]);
export type DatasetEdit = z.output<typeof DatasetEdit>;

export const UpdateDatasetContentRequest = z.object({ edits: z.array(DatasetEdit).min(1).max(100_000) });

export const ReplaceContentRequest = z.union([
  z.object({ rollback_version: z.number().int() }),
  z.object({ dataset_id: Uuid, version_index: z.number().int().nullish() }),
]);

const RowMetadata = z
  .object({
    created_in_version: z.number().int(),
    created_at: z.string(),
    created_by_user: UserInfo.nullable(),
    updated_in_version: z.number().int(),
    updated_at: z.string(),
    updated_by_user: UserInfo.nullable(),
  })
  .nullable();

export const DatasetRowResponse = z.object({
  row_id: z.string(),
  index: z.number().int(),
  values: z.array(Cell),
  values_dict: z.record(z.string(), Cell),
  metadata: RowMetadata,
});

export const DatasetContent = z.object({
  ...PageFields,
  column_names: z.array(z.string()),
  warning_message: z.string().nullable(),
  rows: z.array(DatasetRowResponse),
});

export const PreviewDatasetRequest = z
  .object({ column_mapping: ColumnMapping.nullish() })
  .nullish()
  .transform((body) => ({ columnMapping: body?.column_mapping ?? undefined }));

export const QueryDatasetParams = z
  .object({
    filters: z
      .array(
        z.object({
          column_name: z.string(),
          value: z.string(),
          operator: orDefault(z.enum(['eq', 'ne', 'contains']), 'contains'),
        }),
      )
      .max(100)
      .nullish(),
    sort: z.object({ column_name: z.string(), ascending: BodyFlag(true) }).nullish(),
  })
  .nullish()
  .transform((body) => ({ filters: body?.filters ?? [], sort: body?.sort ?? null }));

export const DatasetInputJsonField = z.object({ key: z.string(), values: z.array(z.unknown()) });

// Versions and projects

export const ListDatasetVersionParams = z
  .object({ sort: columnSort('version_index').nullish() })
  .nullish()
  .transform((body) => ({ ascending: body?.sort?.ascending ?? false }));

export const DatasetVersionResponse = z.object({
  version_index: z.number().int(),
  name: z.string().nullable(),
  created_at: z.string(),
  created_by_user: UserInfo.nullable(),
  num_rows: z.number().int(),
  column_names: z.array(z.string()),
  rows_added: z.number().int(),
  rows_removed: z.number().int(),
  rows_edited: z.number().int(),
  columns_added: z.number().int(),
  columns_removed: z.number().int(),
  columns_renamed: z.number().int(),
});
export const ListDatasetVersionResponse = z.object({ ...PageFields, versions: z.array(DatasetVersionResponse) });
export const UpdateDatasetVersionRequest = z.object({ name: NameText.nullish() });

export const DatasetChangesQuery = PageQuery.extend({
  from_version: z.coerce.number().int().optional().describe('The version to compare with; absent: the one before'),
});

export const DatasetChangeResponse = z.object({
  change: z.enum(['added', 'removed', 'edited']),
  row_id: z.string(),
  index_before: z.number().int().nullable(),
  index: z.number().int().nullable(),
  values_before: z.record(z.string(), Cell).nullable(),
  values: z.record(z.string(), Cell).nullable(),
  metadata: RowMetadata.describe('Of the row as it is now, or as it was before it was removed'),
});

/** The differences of two versions. The counts are of all rows, the changes those of a page. */
export const DatasetChangesResponse = z.object({
  ...PageFields,
  from_version: z.number().int().nullable().describe('Null where everything is new, as in the first version'),
  version_index: z.number().int(),
  rows_added: z.number().int(),
  rows_removed: z.number().int(),
  rows_edited: z.number().int(),
  column_names_before: z.array(z.string()),
  column_names: z.array(z.string()),
  columns_renamed: z.array(z.object({ from: z.string(), to: z.string() })),
  changes: z.array(DatasetChangeResponse),
});

export const DatasetProjectResponse = z.object({
  id: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  name: z.string(),
  created_by_user: UserInfo.nullable(),
});
export const ListDatasetProjectsResponse = z.object({ ...PageFields, projects: z.array(DatasetProjectResponse) });
