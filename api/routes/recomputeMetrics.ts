import { z } from 'zod';
import type { Caller } from '../../shared/accounts/permissions.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import type { EnabledMetric } from '../../shared/scorers/resolveMetrics.ts';
import { type RequestScoringDeps, requestScoring } from '../../shared/scoring/requestScoring.ts';
import type { Selection } from '../../shared/scoring/scoring.ts';
import { Uuid } from '../../shared/wire/common.ts';
import {
  DEFAULT_LIMIT,
  RecomputeLogRecordsMetricsRequest,
  RecomputeMetricsResponse,
} from '../../shared/wire/recomputeMetrics.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { type RecordSearchDeps, recordQuery, sortableColumn } from '../records/recordQuery.ts';

export interface RecomputeDeps extends RecordSearchDeps, RequestScoringDeps {
  /** @throws RequestInvalid for a scorer that is unknown, deleted, not the caller's to see, or whose judge there is not. */
  metricsOf(caller: Caller, run: RunRef, scorerIds: readonly string[]): Promise<EnabledMetric[]>;
}

/** Scoring of stored records again, under both spellings that clients use. */
export const recomputeMetricsRoutes = (deps: RecomputeDeps): Endpoint[] =>
  ['recompute-metrics', 'recompute_metrics'].map((name) =>
    endpoint({
      method: 'post',
      path: `/projects/{project_id}/${name}`,
      summary: 'Compute metrics of stored records again',
      description:
        'Queues the scoring of every matching record of a kind that the metric looks at; the page that the paging keys name, where they say more than their defaults. The values are `pending` until they are computed. One job for each metric shows how far it is.',
      tag: 'Metric settings',
      access: { project: 'set_metric' },
      params: z.object({ project_id: Uuid }),
      body: RecomputeLogRecordsMetricsRequest,
      response: RecomputeMetricsResponse,
      async handle({ params, body, caller }) {
        const query = await recordQuery(deps, params.project_id, [], body, body.sort ? [body.sort.column_id] : []);
        if (body.sort) sortableColumn(query, body.sort.column_id);
        const metrics = await deps.metricsOf(caller, query.run, body.scorer_ids);
        const kinds = [...new Set(metrics.flatMap((metric) => metric.kinds))];
        // Counted before anything is queued: what is wrong with the filters is answered here.
        const records = await deps.records.count({ ...query, kinds });
        const selection: Selection = {
          filter: query.filter,
          ...(body.sort ? { sort: { columnId: body.sort.column_id, ascending: body.sort.ascending } } : {}),
          ...pageOf(body),
        };
        const jobIds = await requestScoring(deps, query.run, metrics, selection, caller.userId);
        const message =
          jobIds.length === 0 ? 'no metric was named, so nothing is computed' : `${records} records match; they are scored`;
        return { message, num_records: records, job_ids: jobIds };
      },
    }),
  );

/** Clients send the defaults of the paging keys without being asked to, so those say nothing: all matching records are meant. */
function pageOf(body: z.output<typeof RecomputeLogRecordsMetricsRequest>): Pick<Selection, 'page'> {
  const offset = body.pagination?.starting_token ?? body.starting_token ?? 0;
  const limit = body.pagination?.limit ?? body.limit ?? DEFAULT_LIMIT;
  const after = body.previous_last_row_id ?? undefined;
  if (offset === 0 && limit === DEFAULT_LIMIT && after === undefined) return {};
  return { page: { offset, limit, ...(after === undefined ? {} : { after }) } };
}
