import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import { HttpStatusError } from '../../../client/errors.ts';
import type { ExperimentComparison } from '../../../client/experimentRunResults.ts';
import type { ComparedRow, ComparedRowsReply } from '../../../shared/wire/comparisons.ts';
import type { RowFilter } from '../address/compareAddress.ts';
import { search, send } from './service.ts';

export type Comparison = ExperimentComparison['comparisons'][number];
export type ComparedExperiment = ExperimentComparison['baseline'];
export type { ComparedRow, ExperimentComparison };
export type ComparedTrace = ComparedRow['baseline'][number];

export interface ComparisonQuestion {
  projectId: string;
  base: string;
  others: readonly string[];
  /** Ids; all metrics without it. */
  metrics: readonly string[] | undefined;
}

/** An experiment that could not be compared, which costs the others nothing. */
export interface LeftOut {
  id: string;
  isGone: boolean;
  said: string;
}

export interface FoundComparison {
  /** Undefined where nothing is left to compare. */
  reply: ExperimentComparison | undefined;
  leftOut: LeftOut[];
  isBaselineGone: boolean;
}

/** Milliseconds that a comparison may take: of fifty experiments on a busy machine, minutes. Asked again it would begin anew. */
const LONGEST_MS = 600_000;

/** Asks for the comparison of experiments with a baseline. Those that are gone, or have no row in common with it, are left out and named. */
export const comparisonQuery = ({ projectId, base, others, metrics }: ComparisonQuestion) =>
  queryOptions({
    queryKey: ['comparison', projectId, base, others, metrics ?? null],
    async queryFn({ signal }): Promise<FoundComparison> {
      const leftOut: LeftOut[] = [];
      for (;;) {
        const experiment_ids = others.filter((id) => !leftOut.some((one) => one.id === id));
        if (experiment_ids.length === 0) return { reply: undefined, leftOut, isBaselineGone: false };
        try {
          const body = { baseline_id: base, experiment_ids, ...(metrics ? { metrics } : {}) };
          const reply = await send<ExperimentComparison>(pathOf(projectId), {
            ...{ body, signal, repeatable: true, timeoutMs: LONGEST_MS },
          });
          return { reply, leftOut, isBaselineGone: false };
        } catch (err) {
          const gone = goneIn(err);
          if (gone === base) return { reply: undefined, leftOut, isBaselineGone: true };
          const left = gone === undefined ? refusedIn(err, experiment_ids) : { id: gone, isGone: true, said: 'it was deleted' };
          if (!left) throw err;
          leftOut.push(left);
        }
      }
    },
    placeholderData: keepPreviousData,
  });

/** The id of an experiment that an answer says is not there. */
function goneIn(err: unknown): string | undefined {
  if (!(err instanceof HttpStatusError) || err.status !== 404) return undefined;
  const { standard_error: said } = err.body as { standard_error?: { context?: { experiment_id?: unknown } } };
  const id = said?.context?.experiment_id;
  return typeof id === 'string' ? id : undefined;
}

/** The experiment that an answer refuses, with the reason. */
function refusedIn(err: unknown, ids: readonly string[]): LeftOut | undefined {
  if (!(err instanceof HttpStatusError) || err.status !== 422) return undefined;
  const { detail } = err.body as { detail?: { loc?: unknown[]; msg?: string }[] };
  const problem = Array.isArray(detail) ? detail.find(({ loc }) => loc?.[1] === 'experiment_ids') : undefined;
  const id = ids[Number(problem?.loc?.[2])];
  return id === undefined ? undefined : { id, isGone: false, said: String(problem?.msg) };
}

/** The metric in each slice of the rows, those with the most rows first. */
export const slicesQuery = (
  { projectId, base, of, metric }: { projectId: string; base: string; of: string; metric: string },
  column: string,
) =>
  queryOptions({
    queryKey: ['slices', projectId, base, of, metric, column],
    async queryFn({ signal }) {
      const body = { baseline_id: base, experiment_ids: [of], metrics: [metric], slices: [column] };
      const { comparisons } = await search<ExperimentComparison>(pathOf(projectId), body, signal);
      return comparisons.filter(({ slice }) => slice !== null);
    },
  });

export interface RowsQuestion {
  projectId: string;
  base: string;
  of: string;
  /** Id of the metric by whose loss rows are ordered. */
  metric: string;
  rows: RowFilter | undefined;
  slice: { column: string; value: string } | undefined;
}

type RowsPage = z.output<typeof ComparedRowsReply>;

/** Rows of a page. Texts of them are cut, and there may be twice as many traces. */
const ROWS = 50;

export const rowsBody = ({ base, of, metric, rows, slice }: RowsQuestion) => ({
  ...{ baseline_id: base, experiment_id: of, sort: { metric } },
  ...(rows ? { filters: [rows === 'failed' || rows === 'content_changed' ? { is: rows } : { is: rows, metric }] } : {}),
  ...(slice ? { slice } : {}),
});

export const rowsPage = (question: RowsQuestion, page: object, signal: AbortSignal) =>
  search<RowsPage>(`${pathOf(question.projectId)}/rows`, { ...rowsBody(question), ...page }, signal);

/** The rows, the largest loss first, with long texts cut. */
export const comparedRowsQuery = (question: RowsQuestion) =>
  infiniteQueryOptions({
    queryKey: ['compared rows', question],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      rowsPage(question, { truncate_fields: true, starting_token: pageParam, limit: ROWS }, signal),
    getNextPageParam: ({ next_starting_token }: RowsPage) => next_starting_token ?? undefined,
    // A list that somebody reads must not move.
    refetchOnReconnect: false,
  });

const pathOf = (projectId: string): string => `/projects/${projectId}/experiments/compare`;

/** Experiments of which one is chosen, the newest first. */
export interface Choosable {
  id: string;
  name: string;
  created_at: string;
}

/** Most that a menu shows; others are found by their name. */
const MOST = 50;

export const choosableQuery = (projectId: string, name: string) =>
  queryOptions({
    queryKey: ['experiments', projectId, 'named', name],
    async queryFn({ signal }) {
      const filters = name === '' ? [] : [{ name: 'name', operator: 'contains', value: name, case_sensitive: false }];
      const path = `/projects/${projectId}/experiments/search`;
      const found = await send<{ experiments: Choosable[] }>(path, {
        ...{ body: { filters, limit: MOST }, signal, repeatable: true },
      });
      return found.experiments;
    },
    placeholderData: keepPreviousData,
  });
