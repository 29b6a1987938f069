import { z } from 'zod';
import { FilterExpression, FilterList } from './filters.ts';
import { flag, RunSelector, SortClause } from './recordSearch.ts';

export const LogRecordsExportRequest = z
  .object({
    ...RunSelector,
    root_type: z.enum(['session', 'trace', 'span']),
    /** Of csv and parquet; null and no column are all of them. */
    column_ids: z.array(z.string()).max(1000).nullish(),
    export_format: z
      .enum(['csv', 'jsonl', 'jsonl_flat', 'parquet'])
      .nullish()
      .transform((given) => given ?? 'jsonl'),
    redact: z
      .boolean()
      .nullish()
      .transform((given) => given ?? true),
    file_name: z.string().max(1000).nullish(),
    export_computed_metrics_only: flag,
    /** Of csv: texts that a spreadsheet would run as a formula begin with `'`. */
    spreadsheet_safe: flag,
    filters: FilterList.optional(),
    filter_tree: FilterExpression.nullish(),
    sort: SortClause.nullish(),
    include_code_metric_metadata: flag,
  })
  .meta({ id: 'LogRecordsExportRequest' });
export type LogRecordsExportRequest = z.output<typeof LogRecordsExportRequest>;
