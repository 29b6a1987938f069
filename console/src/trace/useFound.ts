import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { TraceOutline } from '../../../shared/wire/traceOutline.ts';
import { queryClient } from '../data/service.ts';
import { textInTraceQuery } from '../data/trace.ts';
import { useDebounced } from '../parts/useDebounced.ts';
import { hasText, type OutlineRow } from './outline.ts';

/** Milliseconds that a text stays as it is before the service is asked for it. */
const PAUSE_MS = 250;

export interface Found {
  /** Those of the text, as far as they are known: at once those whose line in the outline has it. */
  ids: ReadonlySet<string>;
  isReading: boolean;
  /** Why inputs and outputs could not be searched. */
  error: Error | null;
  /** Those that have a text: all, or while the service has not answered those whose line has it, if there are any. */
  of(text: string): Promise<ReadonlySet<string>>;
}

/** Records of a trace that have a text: in what the outline shows, which is here, or in inputs, outputs and errors, which the service searches. */
export function useFound(projectId: string, outline: TraceOutline, rows: readonly OutlineRow[], text: string | undefined): Found {
  const isSettled = useDebounced(text, PAUSE_MS) === text;
  const { data, error } = useQuery({
    ...textInTraceQuery(projectId, outline, text ?? ''),
    enabled: text !== undefined && isSettled,
  });
  const ids = useMemo(() => (text === undefined ? new Set<string>() : withText(rows, text, data)), [rows, text, data]);
  const of = async (wanted: string) => {
    const query = textInTraceQuery(projectId, outline, wanted);
    const inOutline = withText(rows, wanted, undefined);
    if (inOutline.size > 0 && queryClient.getQueryData(query.queryKey) === undefined) return inOutline;
    return withText(rows, wanted, await queryClient.fetchQuery(query).catch(() => undefined));
  };
  return { ids, isReading: text !== undefined && data === undefined && !error, error, of };
}

const withText = (rows: readonly OutlineRow[], text: string, held: ReadonlySet<string> | undefined): ReadonlySet<string> =>
  new Set(rows.filter((row) => held?.has(row.id) || hasText(row, text)).map(({ id }) => id));
