import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { TraceOutline } from '../../../shared/wire/traceOutline.ts';
import { queryClient } from '../data/service.ts';
import { textInTraceQuery } from '../data/trace.ts';
import { hasText, type OutlineRow } from './outline.ts';

export interface Found {
  /** Those of the text in the address, as far as they are known. */
  ids: ReadonlySet<string>;
  isReading: boolean;
  /** Why inputs and outputs could not be searched. */
  error: Error | null;
  /** All that have a text, when the service has answered. */
  of(text: string): Promise<ReadonlySet<string>>;
}

/** Records of a trace that have a text: in what the outline shows, which is here, or in inputs, outputs and errors, which the service searches. */
export function useFound(projectId: string, outline: TraceOutline, rows: readonly OutlineRow[], text: string | undefined): Found {
  const { data, error, isFetching } = useQuery({
    ...textInTraceQuery(projectId, outline, text ?? ''),
    enabled: text !== undefined,
  });
  const ids = useMemo(() => (text === undefined ? new Set<string>() : withText(rows, text, data)), [rows, text, data]);
  const of = async (wanted: string) =>
    withText(rows, wanted, await queryClient.fetchQuery(textInTraceQuery(projectId, outline, wanted)).catch(() => undefined));
  return { ids, isReading: isFetching, error, of };
}

const withText = (rows: readonly OutlineRow[], text: string, held: ReadonlySet<string> | undefined): ReadonlySet<string> =>
  new Set(rows.filter((row) => held?.has(row.id) || hasText(row, text)).map(({ id }) => id));
