import { z } from 'zod';
import { annotationColumns, isAnnotationColumn } from '../../shared/annotations/annotationColumns.ts';
import { type ColumnDef, type RecordKind, spanKinds } from '../../shared/columns/columnDef.ts';
import { systemMetricColumns } from '../../shared/columns/recordTableColumns.ts';
import { standardColumns } from '../../shared/columns/standard.ts';
import { availableColumns } from '../../shared/records/columnCatalog.ts';
import {
  type ExportQuery,
  type ExportReads,
  type ExportShape,
  exportFlat,
  exportNested,
  exportParquet,
} from '../../shared/records/exportRecords.ts';
import { isMetricColumn, metricOfColumn } from '../../shared/records/findColumn.ts';
import { shownFields } from '../../shared/records/recordView.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { LogRecordsExportRequest } from '../../shared/wire/recordExport.ts';
import { type Endpoint, endpoint, Reply } from '../route.ts';
import { type RecordSearchDeps, recordQuery, sortableColumn } from './recordSearch.ts';

export interface ExportDeps extends RecordSearchDeps {
  stream: ExportReads;
}

const kindsOf = { session: ['session'], trace: ['trace'], span: spanKinds } as const satisfies Record<
  string,
  readonly RecordKind[]
>;
/** Maps that a column id may name whole; single keys of theirs are columns of their own. */
const wholeMaps: readonly ColumnDef[] = ['user_metadata', 'dataset_metadata'].map(asText);

function asText(id: string): ColumnDef {
  return {
    id,
    label: id,
    description: 'JSON text.',
    category: 'standard',
    groupLabel: 'Standard',
    dataType: 'text',
    kinds: [],
    source: { at: 'record', sqlType: 'String' },
    sortable: false,
    filterable: false,
    optional: false,
  };
}

export const formats = {
  jsonl: { contentType: 'application/x-ndjson; charset=utf-8', ending: '.jsonl' },
  jsonl_flat: { contentType: 'application/x-ndjson; charset=utf-8', ending: '.jsonl' },
  csv: { contentType: 'text/csv; charset=utf-8', ending: '.csv' },
  parquet: { contentType: 'application/vnd.apache.parquet', ending: '.parquet' },
} as const;

/** Export of the records of a run as a file. */
export const exportRecordRoutes = (deps: ExportDeps): Endpoint[] => [
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
        stream: await written(deps, query, shape, body),
        headers: attachment(contentType, fileName(body)),
      });
    },
  }),
];

async function written(
  deps: ExportDeps,
  query: ExportQuery,
  shape: ExportShape,
  { export_format, column_ids, spreadsheet_safe: spreadsheetSafe }: LogRecordsExportRequest,
): Promise<AsyncGenerator<string | Uint8Array, void>> {
  if (export_format === 'jsonl') return exportNested(deps, query, shape);
  const isWhole = export_format === 'jsonl_flat' || !column_ids?.length;
  const chosen = isWhole ? [...(await allColumns(deps, query)), ...(await ratedColumns(deps, query))] : known(column_ids, query);
  if (export_format === 'parquet') return exportParquet(deps, query, shape, chosen, await sharesAmong(deps, query, chosen));
  return exportFlat(deps, [query], shape, {
    format: export_format === 'csv' ? 'csv' : 'jsonl',
    columnIds: chosen.map(({ id }) => id),
    spreadsheetSafe,
  });
}

/** The columns of booleans that hold fractions, too: what traces and sessions say of the records below. */
async function sharesAmong(deps: ExportDeps, { run, kinds }: ExportQuery, columns: readonly ColumnDef[]): Promise<Set<string>> {
  const ids = columns.flatMap(({ id, dataType }) => (dataType === 'boolean' && isMetricColumn(id) ? [id] : []));
  const whole = await deps.records.booleanMetrics(run, ids.map(metricOfColumn), kinds);
  return new Set(ids.filter((id) => !whole.has(metricOfColumn(id))));
}

export const known = (columnIds: readonly string[], { findColumn }: Pick<ExportQuery, 'findColumn'>): ColumnDef[] =>
  [...new Set(columnIds)].map((id) => (isAnnotationColumn(id) || isFieldAlone(id) ? asText(id) : findColumn(id)));

/** A field of records that is no column of the catalog, such as a map as a whole. */
const isFieldAlone = (id: string): boolean => shownFields.has(id) && !standardColumns.some((column) => column.id === id);

/** Every column that applies to the exported kinds, the two maps whole, and every metric with a value. */
export async function allColumns(
  deps: RecordSearchDeps,
  { run, kinds }: Pick<ExportQuery, 'run' | 'kinds'>,
): Promise<ColumnDef[]> {
  const standard = standardColumns.filter((column) => column.kinds.some((kind) => (kinds as readonly string[]).includes(kind)));
  const metrics = (await availableColumns(deps.records, deps.metrics, run, {})).filter(({ id }) => isMetricColumn(id));
  const all = [...standard, ...wholeMaps, ...systemMetricColumns, ...metrics];
  return [...new Map(all.map((column) => [column.id, column])).values()];
}

/** What annotators say of the run's records. */
const ratedColumns = async ({ records }: ExportDeps, { run }: ExportQuery): Promise<ColumnDef[]> =>
  annotationColumns(await records.annotationTemplates(run)).map(({ id }) => asText(id));

function fileName({ file_name, root_type, export_format }: LogRecordsExportRequest): string {
  const { ending } = formats[export_format];
  const name = file_name || `${root_type}s`;
  return name.endsWith(ending) ? name : `${name}${ending}`;
}

export const attachment = (contentType: string, name: string) => ({
  'Content-Type': contentType,
  'Content-Disposition': `attachment; filename*=UTF-8''${encoded(name)}`,
});

const encoded = (name: string): string => encodeURIComponent(name.toWellFormed()).replaceAll(/['()*]/g, '_');
