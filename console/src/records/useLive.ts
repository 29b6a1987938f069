import { useMemo } from 'react';
import type { LiveRecords } from '../../../client/liveRecords.ts';
import type { RunOf } from '../data/records.ts';
import { runSelector } from '../data/selection.ts';
import { follow } from '../data/service.ts';
import { type Streamed, type StreamOptions, useStream } from '../parts/useStream.ts';

/** Follows the counts of the run. */
export function useLive(run: RunOf, isOn: boolean): Streamed<LiveRecords> {
  const open = useMemo(
    () =>
      isOn ? (options: StreamOptions) => follow({ projectId: run.projectId, run: runSelector(run), ...options }) : undefined,
    [run, isOn],
  );
  return useStream(open);
}
