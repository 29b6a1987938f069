import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { ExperimentAddress } from '../address/experimentAddress.ts';

export const from = '/signed in/p/$projectId/experiments/$experimentId';

/** The address of the page, and how to change what is not of its table. */
export function useExperimentAddress(): [
  ExperimentAddress,
  (changed: Partial<ExperimentAddress>, how?: { replace: boolean }) => void,
] {
  const address = useSearch({ from });
  const navigate = useNavigate({ from: '/p/$projectId/experiments/$experimentId' });
  const change = useCallback(
    (changed: Partial<ExperimentAddress>, { replace } = { replace: false }) =>
      void navigate({ search: (before) => ({ ...before, ...changed }), replace, resetScroll: false }),
    [navigate],
  );
  return [address, change];
}
