import type { z } from 'zod';
import type { ComparedRow, ComparedRowsReply } from '../shared/wire/comparisons.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';

export type { ComparedRow };

export interface ComparedRowsOptions extends OperationOptions {
  baselineId: string;
  experimentId: string;
  /** All of them hold. */
  filters?:
    | readonly ({ is: 'better' | 'worse' | 'changed' | 'missing'; metric: string } | { is: 'failed' | 'content_changed' })[]
    | undefined;
  /** Only rows with this value of a column: one of the slices of a comparison. */
  slice?: { column: string; value: string } | undefined;
  /** The metric by whose loss rows are ordered, the largest first. Absent: that of the first filter. */
  sortBy?: string | undefined;
  ascending?: boolean | undefined;
  /** How to count a failed row without a value: not at all, or as the worst value of a metric. Absent: as the experiment says. */
  failedRows?: 'omit' | 'worst' | undefined;
  /** Cuts texts of over 1,000 characters. */
  truncateFields?: boolean | undefined;
  /** Rows of one request; 50 without it. */
  pageSize?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** The rows of an experiment beside those of its baseline. A page is asked for when its first row is; leaving the loop asks for no more. */
export async function* comparedRows(options: ComparedRowsOptions): AsyncGenerator<ComparedRow, void> {
  const client = clientOf(options);
  const { signal } = options;
  const projectId = await resolveProject(client, options, { signal });
  for (let token: number | null = 0; token !== null; ) {
    const page: z.output<typeof ComparedRowsReply> = await client.send(`/projects/${projectId}/experiments/compare/rows`, {
      body: {
        baseline_id: options.baselineId,
        experiment_id: options.experimentId,
        filters: options.filters,
        sort: { metric: options.sortBy, ascending: options.ascending },
        slice: options.slice,
        truncate_fields: options.truncateFields,
        failed_rows: options.failedRows,
        starting_token: token,
        limit: options.pageSize,
      },
      repeatable: true,
      signal,
    });
    yield* page.rows;
    token = page.next_starting_token;
  }
}
