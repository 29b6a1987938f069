import { z } from 'zod';
import type { AccountStore } from '../../shared/accounts/accountStore.ts';
import { queueFor } from '../../shared/annotations/queues.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { type ExportedColumn, exportFlat, exportNested } from '../../shared/records/exportRecords.ts';
import type { RecordQuery } from '../../shared/records/searchRecords.ts';
import { AnnotationQueueExportRequest, AnnotationQueueExportUrlResponse, QueueParams } from '../../shared/wire/annotations.ts';
import { AnyJson, NoQuery, Uuid } from '../../shared/wire/common.ts';
import { type RecordKind, spanKinds } from '../../shared/wire/recordKinds.ts';
import { publicUrlOf } from '../http/publicHost.ts';
import { type Endpoint, endpoint, Reply } from '../http/route.ts';
import { allColumns, annotatedColumns, knownColumns } from '../records/exportColumns.ts';
import { attachment, csvForm, formats } from '../records/exportFile.ts';
import { type QueueRecordDeps, selected } from '../records/queueSelection.ts';

export interface AnnotationExportDeps extends QueueRecordDeps {
  accounts: Pick<AccountStore, 'loginById'>;
  now: () => Date;
}

const tag = 'Annotations';
const access = { organization: 'use_queues' } as const;
const path = '/annotation_queues/{queue_id}/records/export';
const LINK_MS = 3_600_000;

/** The export of a queue's records, at once or behind a link. */
export const annotationExportRoutes = (deps: AnnotationExportDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: path,
    summary: 'Export records of an annotation queue',
    description:
      'As the export of a run: `jsonl` has one record a line with what hangs below it, `jsonl_flat` and `csv` one row a record. Their annotations are in them.',
    tag,
    access,
    params: QueueParams,
    body: AnnotationQueueExportRequest,
    produces: ['application/x-ndjson', 'text/csv'],
    response: AnyJson,
    async handle({ caller, params, body, signal }) {
      await queueFor(deps, caller, params.queue_id, 'read');
      return file(deps, params.queue_id, body, signal);
    },
  }),
  endpoint({
    method: 'post',
    path: `${path}/url`,
    summary: 'A link to an export of records of an annotation queue',
    description: 'The link alone reads the export for an hour, without credentials, as long as the caller may see the queue.',
    tag,
    access,
    params: QueueParams,
    body: AnnotationQueueExportRequest,
    response: AnnotationQueueExportUrlResponse,
    async handle({ caller, params, body, request }) {
      await queueFor(deps, caller, params.queue_id, 'read');
      const id = deps.newId();
      const expiresAt = new Date(deps.now().getTime() + LINK_MS).toISOString();
      await deps.annotations.insertExport({ id, queueId: params.queue_id, userId: caller.userId, request: body, expiresAt });
      const { contentType } = formats[body.export_format];
      return {
        url: `${publicUrlOf(request)}/annotation_queues/${params.queue_id}/records/export/${id}`,
        url_expires_at: expiresAt,
        file_name: fileName(body),
        content_type: contentType,
      };
    },
  }),
  endpoint({
    method: 'get',
    path: `${path}/{export_id}`,
    summary: 'The export behind a link',
    tag,
    access: 'public',
    query: NoQuery,
    params: z.object({ queue_id: Uuid, export_id: Uuid }),
    produces: ['application/x-ndjson', 'text/csv'],
    response: AnyJson,
    async handle({ params, signal }) {
      const link = await deps.annotations.findExport(params.queue_id, params.export_id);
      const caller = link && (await deps.accounts.loginById(link.userId));
      if (!link || !caller) throw new ServiceError('NotFound', 'there is no such export, or its link has expired');
      await queueFor(deps, caller, params.queue_id, 'read');
      return file(deps, params.queue_id, link.request, signal);
    },
  }),
];

async function file(
  deps: AnnotationExportDeps,
  queueId: string,
  body: AnnotationQueueExportRequest,
  signal: AbortSignal,
): Promise<Reply> {
  const { queries, findColumn } = await selected(deps, queueId, body.record_selector, body.column_ids ?? []);
  const columns =
    body.export_format === 'csv' && body.column_ids?.length
      ? await knownColumns(body.column_ids, { findColumn }, () => deps.annotations.templates([queueId]))
      : (await everyColumn(deps, queueId, queries)).map((id) => ({ id }));
  return new Reply({
    stream: written(deps, queries, columns, body, signal),
    headers: attachment(formats[body.export_format].contentType, fileName(body)),
  });
}

async function everyColumn(deps: AnnotationExportDeps, queueId: string, queries: readonly RecordQuery[]): Promise<string[]> {
  const ids: string[] = [];
  for (const query of queries) for (const { id } of await allColumns(deps, query)) ids.push(id);
  ids.push(...annotatedColumns(await deps.annotations.templates([queueId])));
  return [...new Set(ids)];
}

const nestedKinds: readonly (readonly RecordKind[])[] = [['session'], ['trace'], spanKinds];

/** Run by run. Lines that hold what hangs below a record are written kind by kind. */
async function* written(
  deps: AnnotationExportDeps,
  queries: readonly RecordQuery[],
  columns: readonly Pick<ExportedColumn, 'id' | 'heading'>[],
  request: AnnotationQueueExportRequest,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const { export_format: format, redact, export_computed_metrics_only: computedMetricsOnly } = request;
  const shape = { redact, computedMetricsOnly, includeMetricMetadata: false };
  const all = queries.map((query) => ({ ...query, finishedSessionsOnly: false, signal }));
  if (format !== 'jsonl')
    yield* exportFlat(deps, all, shape, { format: format === 'csv' ? 'csv' : 'jsonl', columns, csv: csvForm(request) });
  else
    for (const query of all)
      for (const kinds of nestedKinds)
        yield* exportNested(
          deps,
          { ...query, kinds, finishedSessionsOnly: computedMetricsOnly && kinds.includes('session') },
          shape,
        );
}

function fileName({ file_name, export_format }: AnnotationQueueExportRequest): string {
  const { ending } = formats[export_format];
  const name = file_name || 'annotations';
  return name.endsWith(ending) ? name : `${name}${ending}`;
}
