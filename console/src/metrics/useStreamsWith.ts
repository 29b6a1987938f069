import { useQueries, useQuery } from '@tanstack/react-query';
import { STREAMS_READ, streamMetricsQuery } from '../data/metrics.ts';
import { type LogStreamRow, logStreamsQuery } from '../data/projects.ts';

/** The newest log streams of a project, by the ids of the metrics that are on for them. */
export function useStreamsWith(projectId: string) {
  const { data: streams = [] } = useQuery(logStreamsQuery(projectId));
  const read = streams.slice(0, STREAMS_READ);
  return useQueries({
    queries: read.map(({ id }) => streamMetricsQuery(projectId, id)),
    combine(answers) {
      const found = new Map<string, LogStreamRow[]>();
      for (const [at, { data }] of answers.entries())
        for (const { id } of data?.scorers ?? []) found.set(id, [...(found.get(id) ?? []), read[at] as LogStreamRow]);
      return {
        streamsWith: (metricId: string): readonly LogStreamRow[] => found.get(metricId) ?? [],
        isKnown: answers.length > 0 && answers.every(({ data }) => data !== undefined),
        streams: read,
        /** Log streams that were not looked at. */
        left: streams.length - read.length,
      };
    },
  });
}
