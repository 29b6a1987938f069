import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { MetricAddress } from '../address/metricAddress.ts';
import { withoutEmpty } from '../address/parameters.ts';

const from = '/signed in/p/$projectId/metrics/$metricId';

/** The address of a metric, and how to change it. Typing replaces, choosing is a step of the history. */
export function useMetricAddress() {
  const { projectId, metricId } = useParams({ from });
  const address = useSearch({ from });
  const navigate = useNavigate({ from: '/p/$projectId/metrics/$metricId' });
  const change = (changed: MetricAddress, replace = false) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...changed }), replace, resetScroll: false });
  return { projectId, metricId, address, change };
}
