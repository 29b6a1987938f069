import { z } from 'zod';
import { BodyFlag } from './common.ts';
import { FilterExpression, FilterList } from './filters.ts';
import { RunSelector, SortClause } from './recordSearch.ts';

export const LogRecordsExportRequest = z
  .object({
    ...RunSelector,
    root_type: z.enum(['session', 'trace', 'span']),
    /** Columns of csv and parquet. Null and no column are all of them. */
    column_ids: z.array(z.string()).max(1000).nullish(),
    export_format: z
      .enum(['csv', 'jsonl', 'jsonl_flat', 'parquet'])
      .nullish()
      .transform((given) => given ?? 'jsonl'),
    redact: BodyFlag(true),
    file_name: z.string().max(1000).nullish(),
    export_computed_metrics_only: BodyFlag(false),
    /** In csv, texts that a spreadsheet would run as a formula begin with `'`. */
    spreadsheet_safe: BodyFlag(false),
    byte_order_mark: BodyFlag(false),
    filters: FilterList.optional(),
    filter_tree: FilterExpression.nullish(),
    sort: SortClause.nullish(),
    include_code_metric_metadata: BodyFlag(false),
  })
  .meta({ id: 'LogRecordsExportRequest' });
export type LogRecordsExportRequest = z.output<typeof LogRecordsExportRequest>;
