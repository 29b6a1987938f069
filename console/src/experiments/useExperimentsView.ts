import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { FilterTextError } from '../../../shared/filterText/filterSyntax.ts';
import { parseFilterText } from '../../../shared/filterText/parseFilterText.ts';
import type { ExperimentFilterTree } from '../../../shared/wire/experiments.ts';
import type { ExperimentsAddress } from '../address/experimentsAddress.ts';
import { withoutEmpty } from '../address/parameters.ts';
import {
  type ExperimentsQuestion,
  experimentColumnsQuery,
  experimentFilter,
  experimentGroupsQuery,
} from '../data/experiments.ts';
import { type CatalogColumn, catalogOf } from './experimentColumns.ts';

type ChangeAddress = (change: Partial<ExperimentsAddress>, how?: { replace: boolean }) => void;

const from = '/signed in/p/$projectId/experiments';

/** The address of the experiments page, and how to change it. Choosing is a step of the history, moving in the table replaces it. */
export function useExperimentsAddress(): [ExperimentsAddress, ChangeAddress] {
  const address = useSearch({ from });
  const navigate = useNavigate({ from: '/p/$projectId/experiments' });
  const change = useCallback<ChangeAddress>(
    (changed, { replace } = { replace: false }) =>
      void navigate({ search: (before) => withoutEmpty({ ...before, ...changed }), replace, resetScroll: false }),
    [navigate],
  );
  return [address, change];
}

/** Reads the address of the page with the catalog of its project. */
export function useExperimentsView() {
  const { projectId } = useParams({ from });
  const [address] = useExperimentsAddress();
  const columns = useQuery(experimentColumnsQuery(projectId));
  const groups = useQuery(experimentGroupsQuery(projectId));
  const catalog = useMemo(() => columns.data && catalogOf(columns.data), [columns.data]);
  const { filter, problem } = useMemo(() => filterOf(address, catalog), [address, catalog]);
  const { sort } = address;
  const question = useMemo<ExperimentsQuestion | undefined>(
    () => (catalog && !problem ? { projectId, filter, sort: sortOf(sort) } : undefined),
    [catalog, problem, projectId, filter, sort],
  );
  return { projectId, catalog, filter, problem, question, groups: groups.data, error: columns.error ?? groups.error };
}

export type ExperimentsView = ReturnType<typeof useExperimentsView>;

/** The filter of the bar, and those of the group and the series, joined. */
function filterOf(
  { q = '', group, series }: ExperimentsAddress,
  columns: readonly CatalogColumn[] | undefined,
): { filter: ExperimentFilterTree | undefined; problem: FilterTextError | undefined } {
  if (!columns) return { filter: undefined, problem: undefined };
  try {
    const written = parseFilterText(q, { columns });
    const parts: ExperimentFilterTree[] = [
      ...(written ? [experimentFilter(written)] : []),
      ...(group === undefined ? [] : [{ filter: { name: 'experiment_group_id' as const, value: group } }]),
      ...(series === undefined
        ? []
        : [{ filter: { name: 'series' as const, operator: 'eq' as const, value: series, case_sensitive: true } }]),
    ];
    return { filter: parts.length > 1 ? { and: parts } : parts[0], problem: undefined };
  } catch (err) {
    if (err instanceof FilterTextError) return { filter: undefined, problem: err };
    throw err;
  }
}

export const sortOf = (sort: string | undefined): ExperimentsQuestion['sort'] =>
  sort === undefined ? undefined : { name: sort.replace(/^-/, ''), ascending: !sort.startsWith('-') };
