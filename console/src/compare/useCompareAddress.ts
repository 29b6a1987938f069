import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { CompareAddress } from '../address/compareAddress.ts';
import { withoutEmpty } from '../address/parameters.ts';

export type ChangeComparison = (change: Partial<CompareAddress>, how?: { replace: boolean }) => void;

/** The address of the comparison, and how to change it. Choosing is a step of the history; going through rows replaces it. */
export function useCompareAddress(): [CompareAddress, ChangeComparison] {
  const address = useSearch({ from: '/signed in/p/$projectId/compare' });
  const navigate = useNavigate({ from: '/p/$projectId/compare' });
  const change = useCallback<ChangeComparison>(
    (changed, { replace } = { replace: false }) =>
      void navigate({ search: (before) => withoutEmpty({ ...before, ...changed }), replace, resetScroll: false }),
    [navigate],
  );
  return [address, change];
}
