import { Readable } from 'node:stream';
import { z } from 'zod';
import { type RecordKind, spanKinds } from '../../shared/columns/columnDef.ts';
import { systemMetricColumns } from '../../shared/columns/recordTableColumns.ts';
import { standardColumns } from '../../shared/columns/standard.ts';
import { availableColumns } from '../../shared/records/columnCatalog.ts';
import { type ExportQuery, type ExportReads, exportFlat, exportNested } from '../../shared/records/exportRecords.ts';
import { isMetricColumn } from '../../shared/records/findColumn.ts';
import { AnyJson, Uuid } from '../../shared/wire/common.ts';
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
const wholeMaps = ['user_metadata', 'dataset_metadata'];

/** Export of the records of a run as a file. */
export const exportRecordRoutes = (deps: ExportDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/export_records',
    summary: 'Export sessions, traces or spans of a run',
    description:
      'A stream: `jsonl` has one record a line, sessions with their traces and traces with their spans; `jsonl_flat` and `csv` have one row a record, without what hangs below it. With `redact`, a redacted input or output takes the place of the original.',
    tag: 'Records',
    access: { project: 'export_data' },
    params: z.object({ project_id: Uuid }),
    body: LogRecordsExportRequest,
    produces: 'application/x-ndjson',
    response: AnyJson,
    async handle({ params, body }) {
      const kinds = kindsOf[body.root_type];
      const named = [...(body.sort ? [body.sort.column_id] : []), ...(body.column_ids ?? [])];
      const query: ExportQuery = {
        ...(await recordQuery(deps, params.project_id, kinds, body, named)),
        finishedSessionsOnly: body.export_computed_metrics_only && body.root_type === 'session',
      };
      if (body.sort) query.sort = { column: sortableColumn(query, body.sort.column_id), ascending: body.sort.ascending };
      const shape = {
        redact: body.redact,
        computedMetricsOnly: body.export_computed_metrics_only,
        includeMetricMetadata: body.include_code_metric_metadata,
      };
      const isCsv = body.export_format === 'csv';
      const lines =
        body.export_format === 'jsonl'
          ? exportNested(deps, query, shape)
          : exportFlat(deps, query, shape, {
              format: isCsv ? 'csv' : 'jsonl',
              columnIds: isCsv && body.column_ids ? known(body.column_ids, query) : await allColumns(deps, query),
            });
      return new Reply({
        stream: await started(lines),
        headers: {
          'Content-Type': isCsv ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
          'Content-Disposition': `attachment; filename*=UTF-8''${encoded(fileName(body))}`,
        },
      });
    },
  }),
];

function known(columnIds: readonly string[], { findColumn }: ExportQuery): readonly string[] {
  for (const id of columnIds) if (!wholeMaps.includes(id)) findColumn(id);
  return columnIds;
}

/** Every column that applies to the exported kinds, the two maps whole, and every metric with a value. */
async function allColumns(deps: ExportDeps, { run, kinds }: ExportQuery): Promise<string[]> {
  const standard = standardColumns.filter((column) => column.kinds.some((kind) => (kinds as readonly string[]).includes(kind)));
  const metrics = (await availableColumns(deps.records, deps.metrics, run, {})).filter(({ id }) => isMetricColumn(id));
  const ids = [...standard, ...systemMetricColumns, ...metrics].map(({ id }) => id);
  return [...new Set([...ids.filter((id) => !isMetricColumn(id)), ...wholeMaps, ...ids.filter(isMetricColumn)])];
}

/** The text as a stream whose first part is there: what fails before it is answered as an error, not as a broken file. */
async function started(text: AsyncGenerator<string, void>): Promise<Readable> {
  const first = await text.next();
  const all = async function* () {
    if (first.done) return;
    yield first.value;
    yield* text;
  };
  return Readable.from(all(), { objectMode: false });
}

function fileName({ file_name, root_type, export_format }: z.output<typeof LogRecordsExportRequest>): string {
  const ending = export_format === 'csv' ? '.csv' : '.jsonl';
  const name = file_name || `${root_type}s`;
  return name.endsWith(ending) ? name : `${name}${ending}`;
}

const encoded = (name: string): string => encodeURIComponent(name.toWellFormed()).replaceAll(/['()*]/g, '_');
