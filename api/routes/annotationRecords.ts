import type { Caller, ProjectAction } from '../../shared/accounts/permissions.ts';
import { idIsOneOf, withAnnotatedIds } from '../../shared/annotations/fullyAnnotated.ts';
import { addToQueue, countQueue, idsFound, type QueuePage, searchQueue } from '../../shared/annotations/queueRecords.ts';
import { queueFor } from '../../shared/annotations/queues.ts';
import { standardColumns } from '../../shared/columns/standard.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { LogRecordsPartialQueryResponse, PartialRecord } from '../../shared/recordSchemas/storedRecords.ts';
import { annotationColumns } from '../../shared/records/annotationColumns.ts';
import { availableColumns, toDescriptor } from '../../shared/records/columnCatalog.ts';
import { toExtendedRecord, toPartialRecord } from '../../shared/records/recordView.ts';
import { refuseMisspeltSelector } from '../../shared/records/refuseMisspeltFilter.ts';
import type { RecordQuery } from '../../shared/records/searchRecords.ts';
import {
  AddRecordsToQueueRequest,
  AddRecordsToQueueResponse,
  AnnotationQueueCountRequest,
  AnnotationQueuePartialSearchRequest,
  QueueParams,
  QueueRecordParams,
  type RecordSelector,
  RemoveRecordsFromQueueRequest,
  RemoveRecordsFromQueueResponse,
} from '../../shared/wire/annotations.ts';
import { recordKinds } from '../../shared/wire/recordKinds.ts';
import { LogRecordsAvailableColumnsResponse, LogRecordsQueryCountResponse } from '../../shared/wire/recordSearch.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { columnsOfRuns, filtered, notInQueue, type QueueRecordDeps, queued, selected } from '../records/queueSelection.ts';
import { pageReply, selection } from '../records/recordPage.ts';
import { sortableColumn } from '../records/recordQuery.ts';

export interface AnnotationRecordDeps extends QueueRecordDeps {
  authorizeProject(caller: Caller, action: ProjectAction, projectId: string): Promise<unknown>;
  /** Drops what is remembered of which projects have queued records. */
  forget(): void;
}

const tag = 'Annotations';
const access = { organization: 'use_queues' } as const;
const queuePath = '/annotation_queues/{queue_id}';
const path = `${queuePath}/records`;

/** The records of a queue. */
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
      const run = await deps.findRun(body.project_id, { log_stream_id: body.run_id });
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
      const { record_selector: selector } = body;
      if (selector.type === 'filter_tree') refuseMisspeltSelector(selector);
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
];

/** Builds the query for the records of a run that match a selector. */
async function queryOf(deps: AnnotationRecordDeps, run: RunRef, selector: RecordSelector): Promise<RecordQuery> {
  const filter = selector.type === 'record_ids' ? idIsOneOf(selector.record_ids) : selector.filter_tree;
  const findColumn = await columnsOfRuns(deps, [run], filter, []);
  return { run, kinds: recordKinds, filter: await withAnnotatedIds(deps.records, run, filter), findColumn };
}

/** Records named by their ids need not be there any more. */
const selectedIds = async (deps: AnnotationRecordDeps, queueId: string, selector: RecordSelector): Promise<string[]> =>
  selector.type === 'record_ids'
    ? selector.record_ids
    : idsFound(deps.records, (await selected(deps, queueId, selector)).queries);
