import { z } from 'zod';
import type { ColumnDef } from '../../shared/columns/columnDef.ts';
import {
  type ExportedColumn,
  type ExportQuery,
  type ExportShape,
  exportFlat,
  exportNested,
  exportParquet,
} from '../../shared/records/exportRecords.ts';
import { isMetricColumn, metricOfColumn } from '../../shared/records/findColumn.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { LogRecordsExportRequest } from '../../shared/wire/recordExport.ts';
import { type RecordKind, spanKinds } from '../../shared/wire/recordKinds.ts';
import { type Endpoint, endpoint, Reply } from '../http/route.ts';
import { allColumns, type ExportSearchDeps, knownColumns, ratedColumns } from '../records/exportColumns.ts';
import { attachment, csvForm, formats } from '../records/exportFile.ts';
import { recordQuery, sortableColumn } from '../records/recordQuery.ts';

const kindsOf = { session: ['session'], trace: ['trace'], span: spanKinds } as const satisfies Record<
  string,
  readonly RecordKind[]
>;
/** Export of the records of a run as a file. */
export const exportRecordRoutes = (deps: ExportSearchDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/export_records',
    summary: 'Export sessions, traces or spans of a run',
    description:
      'A stream: `jsonl` has one record a line, sessions with their traces and traces with their spans; `jsonl_flat`, `csv` and `parquet` have one row a record, without what hangs below it. With `redact`, a redacted input or output takes the place of the original.',
    tag: 'Records',
    access: { project: 'export_data' },
    params: z.object({ project_id: Uuid }),
    body: LogRecordsExportRequest,
    waits: true,
    produces: ['application/x-ndjson', 'text/csv', 'application/vnd.apache.parquet'],
    response: z.string(),
    async handle({ params, body, signal }) {
      const kinds = kindsOf[body.root_type];
      const named = [...(body.sort ? [body.sort.column_id] : []), ...(body.column_ids ?? [])];
      const query: ExportQuery = {
        ...(await recordQuery(deps, params.project_id, kinds, body, named)),
        finishedSessionsOnly: body.export_computed_metrics_only && body.root_type === 'session',
        signal,
      };
      if (body.sort) query.sort = { column: sortableColumn(query, body.sort.column_id), ascending: body.sort.ascending };
      const shape = {
        redact: body.redact,
        computedMetricsOnly: body.export_computed_metrics_only,
        includeMetricMetadata: body.include_code_metric_metadata,
      };
      const { contentType } = formats[body.export_format];
      return new Reply({
        stream: await fileText(deps, query, shape, body),
        headers: attachment(contentType, fileName(body)),
      });
    },
  }),
];

async function fileText(
  deps: ExportSearchDeps,
  query: ExportQuery,
  shape: ExportShape,
  request: LogRecordsExportRequest,
): Promise<AsyncGenerator<string | Uint8Array, void>> {
  const { export_format, column_ids } = request;
  if (export_format === 'jsonl') return exportNested(deps, query, shape);
  const isWhole = export_format === 'jsonl_flat' || !column_ids?.length;
  const chosen: readonly ExportedColumn[] = isWhole
    ? [...(await allColumns(deps, query)), ...(await ratedColumns(deps, query))]
    : await knownColumns(column_ids, query, () => deps.records.annotationTemplates(query.run));
  if (export_format === 'parquet') return exportParquet(deps, query, shape, chosen, await sharesAmong(deps, query, chosen));
  return exportFlat(deps, [query], shape, {
    format: export_format === 'csv' ? 'csv' : 'jsonl',
    columns: chosen,
    csv: csvForm(request),
  });
}

/** The columns of booleans that hold fractions, too: what traces and sessions say of the records below. */
async function sharesAmong(
  deps: ExportSearchDeps,
  { run, kinds }: ExportQuery,
  columns: readonly ColumnDef[],
): Promise<Set<string>> {
  const ids = columns.flatMap(({ id, dataType }) => (dataType === 'boolean' && isMetricColumn(id) ? [id] : []));
  const whole = await deps.records.booleanMetrics(run, ids.map(metricOfColumn), kinds);
  return new Set(ids.filter((id) => !whole.has(metricOfColumn(id))));
}

function fileName({ file_name, root_type, export_format }: LogRecordsExportRequest): string {
  const { ending } = formats[export_format];
  const name = file_name || `${root_type}s`;
  return name.endsWith(ending) ? name : `${name}${ending}`;
}
