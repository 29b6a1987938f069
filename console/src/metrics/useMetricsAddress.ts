import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { MetricsAddress } from '../address/metricsAddress.ts';
import { withoutEmpty } from '../address/parameters.ts';

const from = '/signed in/p/$projectId/metrics';

/** The address of the catalogue, and how to change it. Typing replaces, choosing is a step of the history. */
export function useMetricsAddress() {
  const { projectId } = useParams({ from });
  const address = useSearch({ from });
  const navigate = useNavigate({ from: '/p/$projectId/metrics' });
  const change = (changed: MetricsAddress, replace = false) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...changed }), replace, resetScroll: false });
  return { projectId, address, change };
}
