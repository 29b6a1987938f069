import { type HistogramReads, recordHistogram } from '../../shared/records/recordHistogram.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { RecordHistogramRequest, RecordHistogramResponse } from '../../shared/wire/recordHistogram.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { type RecordSearchDeps, recordQuery, searched } from '../records/recordQuery.ts';

export interface HistogramDeps extends RecordSearchDeps {
  histogram: HistogramReads;
}

/** Traces, spans and sessions by time. */
export const recordHistogramRoutes = (deps: HistogramDeps): Endpoint[] =>
  searched.map(({ name, kinds }) =>
    endpoint({
      method: 'post',
      path: `/projects/{project_id}/${name}/histogram`,
      summary: `Count ${name} of a run and their failures by time`,
      description:
        'Under the filter of a search, in buckets of equal width. A bucket has what starts at or after its `start_time` and before its `end_time`.',
      tag: 'Records',
      access: { project: 'read' },
      params: ProjectParams,
      body: RecordHistogramRequest,
      response: RecordHistogramResponse,
      handle: async ({ params, body }) =>
        recordHistogram(deps.histogram, await recordQuery(deps, params.project_id, kinds, body), {
          from: body.start_time ?? undefined,
          to: body.end_time ?? undefined,
          buckets: body.buckets,
        }),
    }),
  );
