import type { z } from 'zod';
import { LogRecordsPartialQueryResponse, LogRecordsQueryResponse } from '../../shared/recordSchemas/storedRecords.ts';
import { toExtendedRecord, toPartialRecord } from '../../shared/records/recordView.ts';
import { type PageView, type RecordPageQuery, searchIds, searchRecords } from '../../shared/records/searchRecords.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import type { RecordKind } from '../../shared/wire/recordKinds.ts';
import {
  LogRecordIdsRequest,
  LogRecordIdsResponse,
  LogRecordsPartialQueryRequest,
  LogRecordsQueryCountRequest,
  LogRecordsQueryCountResponse,
  LogRecordsQueryRequest,
  MAX_PAGE,
} from '../../shared/wire/recordSearch.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { pageReply, placeReply, selection } from '../records/recordPage.ts';
import { type RecordSearchDeps, recordQuery, searched, sortableColumn } from '../records/recordQuery.ts';

const tag = 'Records';
const access = { project: 'read' } as const;

/** Search, partial search and count of traces, spans and sessions. */
export function recordSearchRoutes(deps: RecordSearchDeps): Endpoint[] {
  return searched.flatMap(({ name, kinds }) => [
    endpoint({
      method: 'post',
      path: `/projects/{project_id}/${name}/search`,
      summary: `Search ${name} of a run`,
      tag,
      access,
      params: ProjectParams,
      body: LogRecordsQueryRequest,
      response: LogRecordsQueryResponse,
      handle: async ({ params, body }) => {
        const query = await pageQuery(deps, params.project_id, kinds, body);
        const view: PageView = { ...viewFlags(body), metrics: 'all' };
        const found = await searchRecords(deps.records, query, view);
        return pageReply(found, query.limit, (one) => toExtendedRecord(one, view));
      },
    }),
    endpoint({
      method: 'post',
      path: `/projects/{project_id}/${name}/partial_search`,
      summary: `Search ${name} of a run for selected columns`,
      tag,
      access,
      params: ProjectParams,
      body: LogRecordsPartialQueryRequest,
      response: LogRecordsPartialQueryResponse,
      handle: async ({ params, body }) => {
        const query = await pageQuery(deps, params.project_id, kinds, body);
        const selected = await selection(deps.metrics, body, { ...query, runs: [query.run] });
        const view: PageView = { ...viewFlags(body), ...selected };
        const found = await searchRecords(deps.records, query, view);
        return pageReply(found, query.limit, (one) =>
          selected.columns === undefined ? toExtendedRecord(one, view) : toPartialRecord(one, view, selected.columns),
        );
      },
    }),
    endpoint({
      method: 'post',
      path: `/projects/{project_id}/${name}/ids`,
      summary: `The ids of ${name} of a run`,
      description:
        'Of those that a search would answer, in its order; pages go on as there, of 10,000 where no `limit` is given. Nothing else is read of them: of 10,000 records some thirty times less than the smallest search.',
      tag,
      access,
      params: ProjectParams,
      body: LogRecordIdsRequest,
      response: LogRecordIdsResponse,
      handle: async ({ params, body }) => {
        const query = await pageQuery(deps, params.project_id, kinds, body, MAX_PAGE);
        const { ids, ...place } = await searchIds(deps.records, query);
        return { ids, ...placeReply(place, query.limit, ids.at(-1)) };
      },
    }),
    endpoint({
      method: 'post',
      path: `/projects/{project_id}/${name}/count`,
      summary: `Count ${name} of a run`,
      tag,
      access,
      params: ProjectParams,
      body: LogRecordsQueryCountRequest,
      response: LogRecordsQueryCountResponse,
      handle: async ({ params, body }) => ({
        total_count: await deps.records.count(await recordQuery(deps, params.project_id, kinds, body)),
      }),
    }),
  ]);
}

type QueryBody = z.output<typeof LogRecordsQueryRequest>;
const USUAL_PAGE = 100;

async function pageQuery(
  deps: RecordSearchDeps,
  projectId: string,
  kinds: readonly RecordKind[],
  body: z.output<typeof LogRecordIdsRequest>,
  usualLimit = USUAL_PAGE,
): Promise<RecordPageQuery> {
  const query = await recordQuery(deps, projectId, kinds, body, body.sort ? [body.sort.column_id] : []);
  return {
    ...query,
    offset: body.pagination?.starting_token ?? body.starting_token ?? 0,
    limit: body.pagination?.limit ?? body.limit ?? usualLimit,
    ...(body.sort ? { sort: { column: sortableColumn(query, body.sort.column_id), ascending: body.sort.ascending } } : {}),
    ...(body.previous_last_row_id ? { after: body.previous_last_row_id } : {}),
  };
}

const viewFlags = (body: QueryBody) => ({
  includeCounts: body.include_counts,
  includeMetricMetadata: body.include_code_metric_metadata,
  truncate: body.truncate_fields,
});
