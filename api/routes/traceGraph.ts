import { availableColumns } from '../../shared/records/columnCatalog.ts';
import { aggregateTraces, type TraceGraphReads } from '../../shared/records/traceGraph.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { AggregatedTraceViewRequest, AggregatedTraceViewResponse } from '../../shared/wire/traceGraph.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { type RecordSearchDeps, recordQuery } from '../records/recordQuery.ts';

export interface TraceGraphDeps extends RecordSearchDeps {
  graph: TraceGraphReads;
}

/** The traces of a run laid over each other. */
export const traceGraphRoutes = (deps: TraceGraphDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/traces/aggregated',
    summary: 'The aggregated graph of the traces of a run',
    description:
      'Steps of one kind and name below the same parent are one node, an edge leads to the step that follows. The view holds the newest 1,000 traces that match, fewer where they have more than 50,000 spans; then `has_all_traces` is false.',
    tag: 'Records',
    access: { project: 'read' },
    params: ProjectParams,
    body: AggregatedTraceViewRequest,
    response: AggregatedTraceViewResponse,
    async handle({ params, body }) {
      const query = await recordQuery(deps, params.project_id, ['trace'], body);
      return aggregateTraces(deps, query, await availableColumns(deps.records, deps.metrics, query.run, {}));
    },
  }),
];
