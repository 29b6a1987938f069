import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import { type Experiment, type MetricFigures, withAggregates } from '../../../client/experimentAggregates.ts';
import type { FilterTree } from '../../../shared/filterText/parseFilterText.ts';
import type { ExperimentGroupResponse } from '../../../shared/wire/experimentGroups.ts';
import type { ProgressReply } from '../../../shared/wire/experimentRuns.ts';
import type { ExperimentColumn, ExperimentFilterTree, ExperimentResponse } from '../../../shared/wire/experiments.ts';
import type { RunTag } from '../../../shared/wire/runTags.ts';
import { queryClient, search, send } from './service.ts';

export type { Experiment, ExperimentColumn, MetricFigures };
export type ExperimentGroup = z.output<typeof ExperimentGroupResponse>;
export type Progress = z.output<typeof ProgressReply>;
export type Tag = z.output<typeof RunTag>;

export interface ExperimentsQuestion {
  projectId: string;
  filter: ExperimentFilterTree | undefined;
  sort: { name: string; ascending: boolean } | undefined;
}

export interface ExperimentsPage {
  experiments: Experiment[];
  next_starting_token: number | null;
  /** The number of all that fit, as of this page. */
  total: number;
}

/** Experiments of a page, and most of a trend. */
export const PAGE = 50;
const MOST_IN_TREND = 100;
const MOST_GROUPS = 1_000;

const bodyOf = ({ filter, sort }: Omit<ExperimentsQuestion, 'projectId'>) => ({
  ...(filter ? { filter_tree: filter } : {}),
  ...(sort ? { sort } : {}),
});

type SearchAnswer = Omit<ExperimentsPage, 'experiments' | 'total'> & { experiments: ExperimentResponse[] };

/** Finds experiments, each with what the table shows alone. */
const find = async (projectId: string, body: object, signal: AbortSignal) => {
  const page = await search<SearchAnswer>(`/projects/${projectId}/experiments/search`, { ...body, thin: true }, signal);
  return { ...page, experiments: page.experiments.map(withAggregates) };
};
const countFound = async ({ projectId, filter }: ExperimentsQuestion, signal: AbortSignal): Promise<number> =>
  (await search<{ total_count: number }>(`/projects/${projectId}/experiments/count`, bodyOf({ filter, sort: undefined }), signal))
    .total_count;

/** The first experiments and those behind them, one page after the other. What somebody reads is read anew only when they ask for it. */
export const experimentPagesQuery = (question: ExperimentsQuestion) =>
  infiniteQueryOptions({
    queryKey: ['experiments', question.projectId, 'pages', question.filter ?? null, question.sort ?? null],
    initialPageParam: 0,
    queryFn: async ({ pageParam, signal }): Promise<ExperimentsPage> => {
      const body = { ...bodyOf(question), starting_token: pageParam, limit: PAGE };
      const [page, total] = await Promise.all([find(question.projectId, body, signal), countFound(question, signal)]);
      return { ...page, total };
    },
    getNextPageParam: (last) => last.next_starting_token ?? undefined,
    placeholderData: keepPreviousData,
    refetchOnReconnect: false,
  });

/** How many fit now, while the page is in sight. */
export const experimentCountQuery = (question: ExperimentsQuestion) =>
  queryOptions({
    queryKey: ['experiments', question.projectId, 'count', question.filter ?? null],
    queryFn: ({ signal }) => countFound(question, signal),
    refetchInterval: 10_000,
  });

/** The newest experiments that fit, oldest first: what a trend is drawn of. */
export const trendQuery = ({ projectId, filter }: ExperimentsQuestion) =>
  queryOptions({
    queryKey: ['experiments', projectId, 'trend', filter ?? null],
    queryFn: async ({ signal }) => {
      const sort = { name: 'created_at', ascending: false };
      const { experiments } = await find(projectId, { ...bodyOf({ filter, sort }), limit: MOST_IN_TREND }, signal);
      return experiments.reverse();
    },
    placeholderData: keepPreviousData,
  });

export const experimentColumnsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['experiments', projectId, 'columns'],
    queryFn: async ({ signal }) => {
      const path = `/projects/${projectId}/experiments/available_columns`;
      return (await send<{ columns: ExperimentColumn[] }>(path, { method: 'POST', signal, repeatable: true })).columns;
    },
    staleTime: 60_000,
  });

export const experimentGroupsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['experiments', projectId, 'groups'],
    queryFn: async ({ signal }) => {
      const path = `/projects/${projectId}/experiment-groups/query`;
      return (await search<{ experiment_groups: ExperimentGroup[] }>(path, { limit: MOST_GROUPS }, signal)).experiment_groups;
    },
    staleTime: 60_000,
  });

/** Experiments by their ids as they are now, every two seconds while one of them changes. One that was deleted is missing. */
export const goingOnQuery = (projectId: string, ids: readonly string[]) =>
  queryOptions({
    queryKey: ['experiments going on', projectId, ids],
    queryFn: async ({ signal }) => {
      const filters = [{ name: 'id', operator: 'one_of', value: ids }];
      return (await find(projectId, { filters, limit: ids.length }, signal)).experiments;
    },
    enabled: ids.length > 0,
    refetchInterval: ({ state }) => (state.data?.some(isChanging) === false ? false : 2_000),
    placeholderData: keepPreviousData,
  });

/** Rows that are done, and what the metrics come to so far. */
export const progressQuery = (projectId: string, experimentId: string) =>
  queryOptions({
    queryKey: ['experiments going on', projectId, 'progress', experimentId],
    queryFn: ({ signal }) =>
      send<Progress>(`/projects/${projectId}/experiments/${experimentId}/progress`, { signal, query: { figures: true } }),
    refetchInterval: 5_000,
  });

/** The figures of a metric by its name or its scorer's id. */
export function figuresOf(experiment: Experiment, metric: string): MetricFigures | undefined {
  const name = Object.entries(experiment.metric_scorer_ids).find(([, id]) => id === metric)?.[0];
  return experiment.aggregates[metric] ?? (name === undefined ? undefined : experiment.aggregates[name]);
}

/** The condition of a search of experiments that a filter of the bar means. */
export function experimentFilter(tree: FilterTree): ExperimentFilterTree {
  if ('and' in tree) return { and: tree.and.map(experimentFilter) };
  if ('or' in tree) return { or: tree.or.map(experimentFilter) };
  if ('not' in tree) return { not: experimentFilter(tree.not) };
  const { column_id: name, type: _, ...leaf } = tree.filter;
  return { filter: { name, ...leaf } } as ExperimentFilterTree;
}

export interface ExperimentChange {
  name: string;
  groupName: string;
  /** By their keys, as they are to be. */
  tags: readonly { key: string; value: string }[];
}

/** Renames an experiment, moves it to another group, and makes its tags those of the change. Only what differs is sent. */
export async function changeExperiment(experiment: Experiment, { name, groupName, tags }: ExperimentChange): Promise<void> {
  const at = `/projects/${experiment.project_id}/experiments/${experiment.id}`;
  const isMoved = groupName !== experiment.experiment_group_name;
  if (name !== experiment.name || isMoved)
    await send(at, { method: 'PUT', body: { name, ...(isMoved ? { experiment_group_name: groupName } : {}) } });
  const before = tagsOf(experiment);
  for (const tag of before)
    if (!tags.some(({ key }) => key === tag.key)) await send(`${at}/tags/${tag.id}`, { method: 'DELETE' });
  for (const { key, value } of tags)
    if (before.find((tag) => tag.key === key)?.value !== value)
      await send(`${at}/tags`, { body: { key, value, tag_type: 'generic' } });
  await queryClient.invalidateQueries({ queryKey: ['experiments'] });
}

/** Tags in the order in which they were made. */
export const tagsOf = ({ tags }: Experiment): Tag[] => Object.values(tags).flat();

/** Says that the run of an experiment goes on. */
export const isGoingOn = ({ state }: Pick<Experiment, 'state'>): boolean =>
  state === 'requested' || state === 'running' || state === 'paused';

/** Milliseconds within which the rows of an experiment that is logged, and its figures after them, are looked for. */
const LOGGED_WITHIN_MS = 60_000;

/** Says that figures of an experiment are still to come: its run goes on, or it was just made and its rows are logged. */
export const isChanging = (experiment: Pick<Experiment, 'state' | 'created_at'>): boolean =>
  isGoingOn(experiment) || (experiment.state === 'idle' && Date.now() - Date.parse(experiment.created_at) < LOGGED_WITHIN_MS);
