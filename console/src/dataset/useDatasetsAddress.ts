import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { AssetAddress, AssetListAddress } from '../address/assetAddress.ts';
import { withoutEmpty } from '../address/parameters.ts';

const listFrom = '/signed in/p/$projectId/datasets';

/** The address of the list of datasets, and how to change it. Typing replaces, choosing is a step of the history. */
export function useDatasetsAddress() {
  const { projectId } = useParams({ from: listFrom });
  const address = useSearch({ from: listFrom });
  const navigate = useNavigate({ from: '/p/$projectId/datasets' });
  const change = (changed: AssetListAddress, replace = false) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, ...changed }), replace, resetScroll: false });
  return { projectId, address, change };
}

const from = '/signed in/datasets/$datasetId';

export type ChangeDatasetAddress = (changed: AssetAddress, how?: { replace: boolean }) => void;

/** The address of a dataset, and how to change it. */
export function useDatasetAddress() {
  const { datasetId } = useParams({ from });
  const address = useSearch({ from });
  const navigate = useNavigate({ from: '/datasets/$datasetId' });
  const change = useCallback<ChangeDatasetAddress>(
    (changed, { replace } = { replace: false }) =>
      void navigate({ search: (before) => withoutEmpty({ ...before, ...changed }), replace, resetScroll: false }),
    [navigate],
  );
  return { datasetId, address, change };
}
