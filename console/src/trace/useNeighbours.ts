import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { ListAddress } from '../address/listAddress.ts';
import { type LogRecord, type RunOf, recordPlaceQuery, windowQuery } from '../data/records.ts';
import { useAddressedRun } from '../records/useRecordsView.ts';

export interface Neighbours {
  /** Number of records before the open one, and of all; undefined where it is not known. */
  place: { at: number; total: number } | undefined;
  previous: LogRecord | undefined;
  next: LogRecord | undefined;
  isReading: boolean;
  error: Error | null;
}

const noColumns = (): readonly string[] => [];

/** The records before and after the open one in the list that it was opened from. */
export function useNeighbours(projectId: string, list: ListAddress): Neighbours {
  const { run: stream, experiment, asOf, open, at } = list;
  const runId = experiment ?? stream ?? '';
  const isExperiment = experiment !== undefined;
  const run = useMemo<RunOf>(() => ({ projectId, runId, isExperiment }), [projectId, runId, isExperiment]);
  const { question, error, problem } = useAddressedRun(list, projectId, run, list.kind ?? 'traces', noColumns);
  const asked = question ?? { run, kind: list.kind ?? 'traces', filter: undefined, sort: undefined };
  const near = useQuery({ ...windowQuery(asked, asOf, at ?? 0), enabled: question !== undefined && at !== undefined });
  const placeIn = (records: readonly LogRecord[] | undefined) => records?.findIndex(({ id }) => id === open) ?? -1;
  const isElsewhere = at === undefined || (near.data !== undefined && placeIn(near.data.records) < 0);
  const far = useQuery({ ...recordPlaceQuery(asked, asOf, open), enabled: question !== undefined && isElsewhere });
  const { data, error: failed } = isElsewhere ? far : near;
  const index = placeIn(data?.records);
  return {
    place: data && index >= 0 ? { at: data.offset + index, total: data.total } : undefined,
    previous: index > 0 ? data?.records[index - 1] : undefined,
    next: index >= 0 ? data?.records[index + 1] : undefined,
    error: failed ?? error ?? problem ?? null,
    isReading: data === undefined,
  };
}
