import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { RecordHistogram } from '../../../shared/wire/recordHistogram.ts';
import type { RecordsQuestion } from './records.ts';
import { runSelector } from './selection.ts';
import { search } from './service.ts';

export type { RecordHistogram };

export interface Range {
  /** UTC; undefined for the first and last record that fit. */
  start: string | undefined;
  end: string | undefined;
}

/** How many records fit by time, and how many of them failed. */
export const histogramQuery = ({ run, kind, filter }: RecordsQuestion, { start, end }: Range) =>
  queryOptions({
    queryKey: ['records', 'histogram', run, kind, filter ?? null, start ?? null, end ?? null],
    queryFn: ({ signal }) =>
      search<RecordHistogram>(
        `/projects/${run.projectId}/${kind}/histogram`,
        { ...runSelector(run), ...(filter ? { filter_tree: filter } : {}), start_time: start, end_time: end },
        signal,
      ),
    placeholderData: keepPreviousData,
  });
