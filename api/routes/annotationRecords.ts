import { z } from 'zod';
import type { AccountStore } from '../../shared/accounts/accountStore.ts';
import type { Caller, ProjectAction } from '../../shared/accounts/permissions.ts';
import type { StoredRating } from '../../shared/annotations/annotationStore.ts';
import { idIsOneOf, withAnnotatedIds } from '../../shared/annotations/fullyAnnotated.ts';
import {
  addToQueue,
  countQueue,
  idsFound,
  type QueuedRun,
  type QueuePage,
  queuedRuns,
  queueQueries,
  searchQueue,
} from '../../shared/annotations/queueRecords.ts';
import { type QueueDeps, queueFor } from '../../shared/annotations/queues.ts';
import { checkRating } from '../../shared/annotations/templates.ts';
import { type RecordKind, recordKinds, spanKinds } from '../../shared/columns/columnDef.ts';
import { standardColumns } from '../../shared/columns/standard.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { annotationColumns } from '../../shared/records/annotationColumns.ts';
import { availableColumns, findColumnFor, toDescriptor } from '../../shared/records/columnCatalog.ts';
import { type ExportedColumn, exportFlat, exportNested } from '../../shared/records/exportRecords.ts';
import { columnFinder, type FindColumn } from '../../shared/records/findColumn.ts';
import { toExtendedRecord, toPartialRecord } from '../../shared/records/recordView.ts';
import type { RecordQuery } from '../../shared/records/searchRecords.ts';
import type { AnnotationRating } from '../../shared/wire/annotationRatings.ts';
import {
  AddRecordsToQueueRequest,
  AddRecordsToQueueResponse,
  AnnotationQueueCountRequest,
  AnnotationQueueExportRequest,
  AnnotationQueueExportUrlResponse,
  AnnotationQueuePartialSearchRequest,
  AnnotationRatingCreate,
  AnnotationRatingDB,
  QueueParams,
  QueueRecordParams,
  RatingQuery,
  type RecordSelector,
  RemoveRecordsFromQueueRequest,
  RemoveRecordsFromQueueResponse,
} from '../../shared/wire/annotations.ts';
import { AnyJson, Message, Uuid } from '../../shared/wire/common.ts';
import type { Filter } from '../../shared/wire/filters.ts';
import {
  LogRecordsAvailableColumnsResponse,
  LogRecordsPartialQueryResponse,
  LogRecordsQueryCountResponse,
} from '../../shared/wire/recordSearch.ts';
import { PartialRecord } from '../../shared/wire/storedRecords.ts';
import { allColumns, type ExportDeps, known } from '../records/exportColumns.ts';
import { attachment, formats } from '../records/exportFile.ts';
import { pageReply, selection } from '../records/recordPage.ts';
import { sortableColumn } from '../records/recordQuery.ts';
import { type Endpoint, endpoint, Reply } from '../route.ts';

export interface AnnotationRecordDeps extends QueueDeps, ExportDeps {
  accounts: Pick<AccountStore, 'loginById'>;
  authorizeProject(caller: Caller, action: ProjectAction, projectId: string): Promise<unknown>;
  /** The run without what has expired in it. */
  unexpired(run: RunRef): Promise<RunRef>;
  /** Drops what is remembered of which projects have queued records. */
  forget(): void;
  now: () => Date;
}

const tag = 'Annotations';
const access = { organization: 'use_queues' } as const;
const queuePath = '/annotation_queues/{queue_id}';
const path = `${queuePath}/records`;
const LINK_MS = 3_600_000;

/** The records of a queue and their ratings. */
export const annotationRecordRoutes = (deps: AnnotationRecordDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path,
    errors: ['Conflict'],
    summary: 'Put records of a run in an annotation queue; answers how many were not in it',
    description:
      'Takes the right to configure feedback in the project: every user of the queue sees its records. Ids that the run does not hold are passed over.',
    tag,
    access,
    params: QueueParams,
    body: AddRecordsToQueueRequest,
    response: AddRecordsToQueueResponse,
    async handle({ caller, params, body }) {
      await queueFor(deps, caller, params.queue_id, 'update');
      await deps.authorizeProject(caller, 'configure_human_feedback', body.project_id);
      const run = await logStreamOrExperiment(deps, body.project_id, body.run_id);
      const query = await queryOf(deps, run, body.record_selector);
      const into = { reads: deps.records, annotations: deps.annotations };
      const added = await addToQueue(into, params.queue_id, query, caller.userId);
      deps.forget();
      return { num_records_added: added };
    },
  }),
  endpoint({
    method: 'post',
    path: `${path}/remove`,
    summary: 'Take records out of an annotation queue, with their ratings; the records stay',
    tag,
    access,
    params: QueueParams,
    body: RemoveRecordsFromQueueRequest,
    response: RemoveRecordsFromQueueResponse,
    async handle({ caller, params, body }) {
      await queueFor(deps, caller, params.queue_id, 'update');
      const ids = await selectedIds(deps, params.queue_id, body.record_selector);
      return { num_records_removed: await deps.annotations.removeRecords(params.queue_id, ids) };
    },
  }),
  endpoint({
    method: 'post',
    path: `${queuePath}/partial_search`,
    summary: 'Search the records of an annotation queue for selected columns',
    tag,
    access,
    params: QueueParams,
    body: AnnotationQueuePartialSearchRequest,
    response: LogRecordsPartialQueryResponse,
    async handle({ caller, params, body }) {
      await queueFor(deps, caller, params.queue_id, 'read');
      const runs = await queued(deps, params.queue_id);
      const named = body.sort ? [body.sort.column_id] : [];
      const { queries, findColumn } = await filtered(deps, runs, body.filter_tree, named);
      const page: QueuePage = {
        offset: body.starting_token,
        limit: body.limit,
        ...(body.sort
          ? { sort: { column: sortableColumn({ findColumn }, body.sort.column_id), ascending: body.sort.ascending } }
          : {}),
        ...(body.previous_last_row_id ? { after: body.previous_last_row_id } : {}),
      };
      const shown = await selection(deps.metrics, body, { findColumn, runs: queries.map(({ run }) => run) });
      const view = { ...shown, includeCounts: body.include_counts, includeMetricMetadata: false, truncate: body.truncate_fields };
      return pageReply(await searchQueue(deps.records, queries, page, view), page.limit, (one) =>
        shown.columns === undefined ? toExtendedRecord(one, view) : toPartialRecord(one, view, shown.columns),
      );
    },
  }),
  endpoint({
    method: 'post',
    path: `${path}/count`,
    summary: 'Count the records of an annotation queue',
    tag,
    access,
    params: QueueParams,
    body: AnnotationQueueCountRequest,
    response: LogRecordsQueryCountResponse,
    async handle({ caller, params, body }) {
      await queueFor(deps, caller, params.queue_id, 'read');
      const { queries } = await filtered(deps, await queued(deps, params.queue_id), body?.filter_tree);
      return { total_count: await countQueue(deps.records, queries) };
    },
  }),
  endpoint({
    method: 'post',
    path: `${path}/available_columns`,
    summary: 'List the columns usable for the records of an annotation queue',
    tag,
    access,
    params: QueueParams,
    response: LogRecordsAvailableColumnsResponse,
    async handle({ caller, params }) {
      await queueFor(deps, caller, params.queue_id, 'read');
      const columns = new Map([...standardColumns, ...deps.metrics.alwaysListed].map((column) => [column.id, column]));
      for (const { run } of await queued(deps, params.queue_id))
        for (const column of await availableColumns(deps.records, deps.metrics, run, {})) columns.set(column.id, column);
      const templates = await deps.annotations.templates([params.queue_id]);
      return { columns: [...[...columns.values()].map(toDescriptor), ...annotationColumns(templates)] };
    },
  }),
  ...exportRoutes(deps),
  endpoint({
    method: 'get',
    path: `${path}/{record_id}`,
    summary: 'A record of an annotation queue',
    tag,
    access,
    params: QueueRecordParams,
    response: PartialRecord,
    async handle({ caller, params }) {
      await queueFor(deps, caller, params.queue_id, 'read');
      const { queries } = await filtered(deps, await queued(deps, params.queue_id, [params.record_id]));
      const view = { metrics: 'all', includeCounts: true, includeMetricMetadata: false, truncate: false } as const;
      const { records } = await searchQueue(deps.records, queries, { offset: 0, limit: 1 }, view);
      const [record] = records;
      if (!record) throw notInQueue('record');
      return toExtendedRecord(record, view);
    },
  }),
  ...ratingRoutes(deps),
];

const exportRoutes = (deps: AnnotationRecordDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: `${path}/export`,
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
    path: `${path}/export/url`,
    summary: 'A link to an export of records of an annotation queue',
    description:
      'Whoever has the link reads the export for an hour, without credentials, as long as the caller may see the queue.',
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
        url: `${request.protocol}://${request.get('host')}/annotation_queues/${params.queue_id}/records/export/${id}`,
        url_expires_at: expiresAt,
        file_name: fileName(body),
        content_type: contentType,
      };
    },
  }),
  endpoint({
    method: 'get',
    path: `${path}/export/{export_id}`,
    summary: 'The export behind a link',
    tag,
    access: 'public',
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

const ratingRoutes = (deps: AnnotationRecordDeps): Endpoint[] => [
  endpoint({
    method: 'put',
    path: `${path}/{record_id}/rating`,
    summary: "Rate a record by one template, in place of the caller's rating before",
    tag,
    access,
    params: QueueRecordParams,
    query: RatingQuery,
    body: AnnotationRatingCreate,
    response: AnnotationRatingDB,
    async handle({ caller, params, query, body }) {
      await queueFor(deps, caller, params.queue_id, 'record_annotation');
      const templates = await deps.annotations.templates([params.queue_id]);
      const template = templates.find(({ id }) => id === query.annotation_template_id);
      if (!template) throw notInQueue('template');
      checkRating(template.constraints, body.rating);
      const rating = await deps.annotations.rate(
        { queueId: params.queue_id, recordId: params.record_id, templateId: template.id, userId: caller.userId },
        { value: body.rating.value, explanation: body.explanation ?? null },
      );
      if (!rating) throw notInQueue('record');
      return toRatingResponse(body.rating.annotation_type, rating);
    },
  }),
  endpoint({
    method: 'delete',
    path: `${path}/{record_id}/rating`,
    summary: "Take back the caller's rating of a record by one template",
    tag,
    access,
    params: QueueRecordParams,
    query: RatingQuery,
    response: Message,
    async handle({ caller, params, query }) {
      await queueFor(deps, caller, params.queue_id, 'record_annotation');
      const at = { queueId: params.queue_id, recordId: params.record_id, templateId: query.annotation_template_id };
      if (!(await deps.annotations.removeRating({ ...at, userId: caller.userId })))
        throw new ServiceError('NotFound', 'you have not rated this record by this template');
      return { message: 'rating deleted' };
    },
  }),
];

const notInQueue = (what: string): ServiceError => new ServiceError('NotFound', `no such ${what} in this annotation queue`);

const toRatingResponse = (
  type: AnnotationRating['annotation_type'],
  { value, explanation, createdAt, createdBy }: StoredRating,
): z.input<typeof AnnotationRatingDB> => ({
  explanation,
  rating: { annotation_type: type, value } as AnnotationRating,
  created_at: createdAt,
  created_by: createdBy,
});

/** The run that a request names without saying of which kind it is. */
async function logStreamOrExperiment({ findRun }: AnnotationRecordDeps, projectId: string, runId: string): Promise<RunRef> {
  try {
    return await findRun(projectId, { log_stream_id: runId });
  } catch (err) {
    if (!(err instanceof ServiceError) || err.code !== 'RunNotFound') throw err;
    return findRun(projectId, { experiment_id: runId });
  }
}

/** Columns of several runs: a metric that one of them knows is a column. */
async function columnsOfRuns(
  deps: AnnotationRecordDeps,
  runs: readonly RunRef[],
  filter: Filter,
  alsoNamed: readonly string[],
): Promise<FindColumn> {
  const finders: FindColumn[] = [];
  for (const run of runs) finders.push(await findColumnFor(deps.records, deps.metrics, run, { filter, alsoNamed }));
  finders.push(columnFinder(deps.metrics.builtIn));
  return (id) => {
    for (const find of finders.slice(0, -1)) {
      try {
        return find(id);
      } catch (err) {
        if (!(err instanceof ServiceError) || err.code !== 'ColumnUnknown') throw err;
      }
    }
    return (finders.at(-1) as FindColumn)(id);
  };
}

/** A query for each run, of its queued records that the filter keeps. */
async function filtered(
  deps: AnnotationRecordDeps,
  runs: readonly QueuedRun[],
  filter?: Filter | null,
  alsoNamed: readonly string[] = [],
): Promise<{ queries: RecordQuery[]; findColumn: FindColumn }> {
  const refs = runs.map(({ run }) => run);
  const findColumn = await columnsOfRuns(deps, refs, filter ?? { and: [] }, alsoNamed);
  return { queries: await queueQueries(deps.records, runs, filter, findColumn), findColumn };
}

/** The records of a queue, by run, but for what has expired. */
async function queued(deps: AnnotationRecordDeps, queueId: string, recordIds?: readonly string[]): Promise<QueuedRun[]> {
  const runs = await queuedRuns(deps.annotations, queueId, recordIds);
  return Promise.all(runs.map(async ({ run, ...of }) => ({ ...of, run: await deps.unexpired(run) })));
}

/** What a selector finds in a run. */
async function queryOf(deps: AnnotationRecordDeps, run: RunRef, selector: RecordSelector): Promise<RecordQuery> {
  const filter = selector.type === 'record_ids' ? idIsOneOf(selector.record_ids) : selector.filter_tree;
  const findColumn = await columnsOfRuns(deps, [run], filter, []);
  return { run, kinds: recordKinds, filter: await withAnnotatedIds(deps.records, run, filter), findColumn };
}

/** What a selector finds in a queue. */
async function selected(
  deps: AnnotationRecordDeps,
  queueId: string,
  selector: RecordSelector,
  alsoNamed: readonly string[] = [],
) {
  const ids = selector.type === 'record_ids' ? selector.record_ids : undefined;
  const runs = await queued(deps, queueId, ids);
  return filtered(deps, runs, selector.type === 'filter_tree' ? selector.filter_tree : null, alsoNamed);
}

/** Records named by their ids need not be there any more. */
const selectedIds = async (deps: AnnotationRecordDeps, queueId: string, selector: RecordSelector): Promise<string[]> =>
  selector.type === 'record_ids'
    ? selector.record_ids
    : idsFound(deps.records, (await selected(deps, queueId, selector)).queries);

async function file(
  deps: AnnotationRecordDeps,
  queueId: string,
  body: AnnotationQueueExportRequest,
  signal: AbortSignal,
): Promise<Reply> {
  const { queries, findColumn } = await selected(deps, queueId, body.record_selector, body.column_ids ?? []);
  const columns =
    body.export_format === 'csv' && body.column_ids?.length
      ? known(body.column_ids, { findColumn })
      : (await everyColumn(deps, queueId, queries)).map((id) => ({ id }));
  return new Reply({
    stream: written(deps, queries, columns, body, signal),
    headers: attachment(formats[body.export_format].contentType, fileName(body)),
  });
}

async function everyColumn(deps: AnnotationRecordDeps, queueId: string, queries: readonly RecordQuery[]): Promise<string[]> {
  const ids: string[] = [];
  for (const query of queries) for (const { id } of await allColumns(deps, query)) ids.push(id);
  for (const { id } of annotationColumns(await deps.annotations.templates([queueId]))) ids.push(id);
  return [...new Set(ids)];
}

const nestedKinds: readonly (readonly RecordKind[])[] = [['session'], ['trace'], spanKinds];

/** Run by run. Lines that hold what hangs below a record are written kind by kind. */
async function* written(
  deps: AnnotationRecordDeps,
  queries: readonly RecordQuery[],
  columns: readonly Pick<ExportedColumn, 'id' | 'heading'>[],
  {
    export_format: format,
    redact,
    export_computed_metrics_only: computedMetricsOnly,
    spreadsheet_safe: spreadsheetSafe,
  }: AnnotationQueueExportRequest,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const shape = { redact, computedMetricsOnly, includeMetricMetadata: false };
  const all = queries.map((query) => ({ ...query, finishedSessionsOnly: false, signal }));
  if (format !== 'jsonl')
    yield* exportFlat(deps, all, shape, { format: format === 'csv' ? 'csv' : 'jsonl', columns, spreadsheetSafe });
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
