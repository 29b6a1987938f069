import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import { withAggregates } from '../../../client/experimentAggregates.ts';
import type { LiveProgress, RunSettings } from '../../../client/liveProgress.ts';
import type { RunReply, RunRequest } from '../../../shared/wire/experimentRuns.ts';
import type { ExperimentResponse } from '../../../shared/wire/experiments.ts';
import type { Experiment } from './experiments.ts';
import { queryClient, search, send } from './service.ts';

export type { LiveProgress, RunSettings };

/** Where an experiment is. */
export interface ExperimentRef {
  projectId: string;
  experimentId: string;
}

const pathOf = ({ projectId, experimentId }: ExperimentRef): string => `/projects/${projectId}/experiments/${experimentId}`;
const keyOf = ({ projectId, experimentId }: ExperimentRef) => ['experiments', projectId, 'one', experimentId];

/** An experiment with its figures. */
export const experimentQuery = (of: ExperimentRef) =>
  queryOptions({
    queryKey: [...keyOf(of), 'itself'],
    queryFn: async ({ signal }): Promise<Experiment> => withAggregates(await send<ExperimentResponse>(pathOf(of), { signal })),
  });

/** The runner of its rows and its settings. */
export const runSettingsQuery = (of: ExperimentRef) =>
  queryOptions({
    queryKey: [...keyOf(of), 'run'],
    queryFn: ({ signal }) => send<RunSettings>(`${pathOf(of)}/run`, { signal }),
  });

const RUNS_OF_SERIES = 20;

/** The newest runs of a series, the newest first. */
export const seriesQuery = (projectId: string, series: string) =>
  queryOptions({
    queryKey: ['experiments', projectId, 'series', series],
    queryFn: async ({ signal }) => {
      const filters = [{ name: 'series', operator: 'eq', value: series, case_sensitive: true }];
      const body = { filters, starting_token: 0, limit: RUNS_OF_SERIES, thin: true };
      const path = `/projects/${projectId}/experiments/search`;
      return (await search<{ experiments: ExperimentResponse[] }>(path, body, signal)).experiments.map(withAggregates);
    },
  });

type Started = z.output<typeof RunReply>;

/** Reads anew what is known of the experiments of its project. */
export const renewExperiment = ({ projectId }: ExperimentRef): Promise<void> =>
  queryClient.invalidateQueries({ queryKey: ['experiments', projectId] });

export const steerRun = (of: ExperimentRef, what: 'pause' | 'resume' | 'cancel'): Promise<Started> =>
  send<Started>(`${pathOf(of)}/${what}`, { method: 'POST', body: {} });

export const setConcurrency = (of: ExperimentRef, concurrency: number): Promise<Started> =>
  send<Started>(`${pathOf(of)}/concurrency`, { body: { concurrency } });

/** Starts the run of an experiment once more. */
export const startAgain = (of: ExperimentRef, rowsToRun: z.input<typeof RunRequest>['rows_to_run']): Promise<Started> =>
  send<Started>(`${pathOf(of)}/run`, { body: { rows_to_run: rowsToRun } });

/** Approves it as a baseline, or takes that back. */
export const approve = (of: ExperimentRef, isApproved: boolean): Promise<unknown> =>
  send(`${pathOf(of)}/approval`, { method: isApproved ? 'PUT' : 'DELETE' });
