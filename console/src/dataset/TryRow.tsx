import { Link } from '@tanstack/react-router';
import { originText } from '../address/playgroundAddress.ts';
import type { DatasetRow } from '../data/datasetRows.ts';
import type { Dataset } from '../data/datasets.ts';
import { useDatasetAddress } from './useDatasetsAddress.ts';

interface Props {
  dataset: Dataset;
  version: number;
  chosen: ReadonlySet<string>;
  rows: ReadonlyMap<number, DatasetRow>;
}

/** Leads to the playground with the row that is chosen alone. */
export function TryRow({ dataset, version, chosen, rows }: Props) {
  const { address } = useDatasetAddress();
  const [only] = chosen;
  const [index] = [...rows].find(([, row]) => row.row_id === only) ?? [];
  if (address.project === undefined || chosen.size !== 1 || index === undefined) return null;
  return (
    <Link
      to="/p/$projectId/playground"
      params={{ projectId: address.project }}
      search={{ from: originText({ kind: 'row', datasetId: dataset.id, version, index }) }}
    >
      Try in the playground
    </Link>
  );
}
