import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { type Experiment, experimentColumnsQuery } from '../data/experiments.ts';

/** Asks for the columns of a project anew when its experiments have a metric without one, as when rows are scored by it for the first time. */
export function useNewMetrics(projectId: string, experiments: readonly Experiment[]): void {
  const client = useQueryClient();
  const { data: columns } = useQuery(experimentColumnsQuery(projectId));
  const missing = useMemo(() => {
    if (!columns) return '';
    const ids = new Set(columns.map(({ id }) => id));
    const names = new Set(experiments.flatMap(({ aggregates }) => Object.keys(aggregates)));
    return [...names].filter((name) => !ids.has(`metrics/${name}`)).join('\n');
  }, [columns, experiments]);
  // Once for each set of names: a metric may be deleted whose figures an experiment keeps.
  useEffect(() => {
    if (missing !== '') void client.invalidateQueries({ queryKey: experimentColumnsQuery(projectId).queryKey });
  }, [missing, client, projectId]);
}
