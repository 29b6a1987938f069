import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type {
  DatasetChangeResponse,
  DatasetChangesResponse,
  DatasetContent,
  DatasetEdit,
  DatasetVersionResponse,
} from '../../../shared/wire/datasets.ts';
import { changed } from './datasets.ts';
import { send } from './service.ts';

/** A cell as the client library reads it: whole numbers beyond 2^53 are bigints. */
export type Cell = unknown;
export type Cells = Record<string, Cell>;
export type DatasetRow = Pick<z.output<typeof DatasetContent>['rows'][number], 'row_id' | 'index'> & { values_dict: Cells };
export type DatasetVersion = z.output<typeof DatasetVersionResponse>;
export type DatasetChanges = z.output<typeof DatasetChangesResponse>;
export type DatasetChange = z.output<typeof DatasetChangeResponse>;
export type DatasetEdits = z.input<typeof DatasetEdit>[];

/** Rows that are asked for at a time. */
export const ROWS = 100;

/** A page of rows of a version. A version never changes. */
export const rowsQuery = (datasetId: string, version: number, page: number) =>
  queryOptions({
    queryKey: ['rows', datasetId, version, page],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    queryFn: ({ signal }) =>
      send<{ column_names: string[]; rows: DatasetRow[] }>(`/datasets/${datasetId}/versions/${version}/content`, {
        ...{ signal, query: { starting_token: page * ROWS, limit: ROWS } },
      }),
  });

/** A version: its columns and the number of its rows. Only its name changes. */
export const versionQuery = (datasetId: string, version: number) =>
  queryOptions({
    queryKey: ['dataset', datasetId, 'version', version],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => send<DatasetVersion>(`/datasets/${datasetId}/versions/${version}`, { signal }),
  });

/** Versions, newest first, 100 at a time. */
export const versionsQuery = (datasetId: string) =>
  infiniteQueryOptions({
    queryKey: ['dataset', datasetId, 'versions'],
    initialPageParam: 0,
    getNextPageParam: (page: { next_starting_token: number | null }) => page.next_starting_token ?? undefined,
    queryFn: ({ signal, pageParam }) =>
      send<{ versions: DatasetVersion[]; next_starting_token: number | null }>(`/datasets/${datasetId}/versions/query`, {
        ...{ body: {}, signal, repeatable: true, query: { starting_token: pageParam } },
      }),
  });

/** The differences from one version to another, 100 rows at a time. @param from undefined: the version before */
export const changesQuery = (datasetId: string, version: number, from: number | undefined) =>
  infiniteQueryOptions({
    queryKey: ['changes', datasetId, version, from ?? null],
    staleTime: Number.POSITIVE_INFINITY,
    initialPageParam: 0,
    getNextPageParam: (page: DatasetChanges) => page.next_starting_token ?? undefined,
    queryFn: ({ signal, pageParam }) => changesOf(datasetId, version, { from, at: pageParam, limit: 100, signal }),
  });

/** Most changes of other people that are looked through at a conflict. */
const MOST_CHANGES = 100_000;

/** All that other people changed since a version, for what somebody has typed on top of it. */
export const changesSinceQuery = (datasetId: string, from: number, version: number) =>
  queryOptions({
    queryKey: ['changes', datasetId, version, from, 'all'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => changesOf(datasetId, version, { from, at: 0, limit: MOST_CHANGES, signal }),
  });

const changesOf = (
  datasetId: string,
  version: number,
  { from, at, limit, signal }: { from: number | undefined; at: number; limit: number; signal: AbortSignal },
) =>
  send<DatasetChanges>(`/datasets/${datasetId}/versions/${version}/changes`, {
    ...{ signal, query: { from_version: from, starting_token: at, limit } },
  });

/**
 * Makes the edits, as one new version.
 * @param base the version that they were made for
 * @returns the new version
 * @throws HttpStatusError 412 when somebody has changed the dataset since
 */
export async function saveEdits(datasetId: string, base: number, edits: DatasetEdits | string): Promise<number> {
  let version = base + 1;
  await send(`/datasets/${datasetId}/content`, {
    method: 'PATCH',
    ...(typeof edits === 'string' ? { json: edits } : { body: { edits } }),
    headers: { 'If-Match': `"${datasetId}.${base}"` },
    // A repeat could append the same rows again.
    repeatable: false,
    timeoutMs: 300_000,
    onHeaders(headers) {
      version = Number(/\.(\d+)"?$/.exec(headers.get('etag') ?? '')?.[1] ?? version);
    },
  });
  await changed(datasetId);
  return version;
}

/** Makes the content of an older version the newest one. */
export async function returnTo(datasetId: string, version: number): Promise<void> {
  await send(`/datasets/${datasetId}/content`, { method: 'PUT', body: { rollback_version: version } });
  await changed(datasetId);
}

export async function nameVersion(datasetId: string, version: number, name: string): Promise<void> {
  await send(`/datasets/${datasetId}/versions/${version}`, { method: 'PATCH', body: { name: name === '' ? null : name } });
  await changed(datasetId);
}
