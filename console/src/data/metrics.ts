import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { DefaultJudgeResponse } from '../../../shared/wire/defaultJudge.ts';
import type {
  CreateScorerRequest,
  MetricSettingsResponse,
  ScorerResponse,
  UpdateScorerRequest,
} from '../../../shared/wire/scorers.ts';
import type { CreateLlmScorerVersionRequest, ScorerVersionResponse } from '../../../shared/wire/scorerVersions.ts';
import { queryClient, send } from './service.ts';

export type Metric = z.output<typeof ScorerResponse>;
export type MetricVersion = z.output<typeof ScorerVersionResponse>;
export type NewJudge = Omit<z.input<typeof CreateScorerRequest>, 'scorer_type' | 'project_ids'>;
export type NewJudgeVersion = z.input<typeof CreateLlmScorerVersionRequest>;
type ChangedJudge = z.input<typeof UpdateScorerRequest>;
type DefaultJudge = z.output<typeof DefaultJudgeResponse>;
type MetricSettings = z.output<typeof MetricSettingsResponse>;

/** Log streams whose metrics are read, the newest: each is a question of its own. */
export const STREAMS_READ = 20;

/** Every metric that runs of a project can have: built-in, of the organization, and of the project. */
export const metricsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['metrics', projectId],
    queryFn: async ({ signal }) => {
      const body = {
        filters: [{ name: 'scope_projects', project_ids: [projectId], include_global: true }],
      };
      const query = { limit: 10_000 };
      return (await send<{ scorers: Metric[] }>('/scorers/list', { body, query, signal, repeatable: true })).scorers;
    },
  });

const settingsPath = (projectId: string, streamId: string): string =>
  `/projects/${projectId}/log_streams/${streamId}/metric_settings`;

/** The metrics that are on for a log stream. */
export const streamMetricsQuery = (projectId: string, streamId: string) =>
  queryOptions({
    queryKey: ['stream metrics', projectId, streamId],
    queryFn: ({ signal }) => send<MetricSettings>(settingsPath(projectId, streamId), { signal }),
  });

export const metricQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: ['metrics', projectId, id],
    refetchOnWindowFocus: true,
    queryFn: ({ signal }) => send<Metric>(`/scorers/${id}`, { signal }),
  });

/** The versions of a judge, newest first. */
export const metricVersionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['metrics', 'versions', id],
    queryFn: async ({ signal }) => {
      const query = { limit: 1_000 };
      return (await send<{ versions: MetricVersion[] }>(`/scorers/${id}/versions`, { query, signal })).versions;
    },
  });

/** Switches a metric on or off for a log stream, and leaves the others as they are now. */
export async function switchMetric(projectId: string, streamId: string, metric: Metric, isOn: boolean): Promise<void> {
  const path = settingsPath(projectId, streamId);
  const { scorers } = await send<MetricSettings>(path);
  const others = scorers.filter(({ id }) => id !== metric.id);
  const own = { id: metric.id, name: metric.name, scorer_type: metric.scorer_type };
  await send(path, { method: 'PATCH', body: { scorers: isOn ? [...others, own] : others } });
  await queryClient.invalidateQueries({ queryKey: ['stream metrics', projectId, streamId] });
}

/** Has metrics read anew. */
export const metricsChanged = () => queryClient.invalidateQueries({ queryKey: ['metrics'] });

/** Makes a judge with its first version. One that is refused leaves nothing behind. @returns its id */
export async function createJudge(projectId: string, scorer: NewJudge, version: NewJudgeVersion): Promise<string> {
  const body = { ...scorer, scorer_type: 'llm', project_ids: [projectId] };
  const { id } = await send<Metric>('/scorers', { body, repeatable: false });
  try {
    await send(`/scorers/${id}/version/llm`, { body: version, repeatable: false });
  } catch (err) {
    await send(`/scorers/${id}`, { method: 'DELETE', repeatable: true }).catch(() => undefined); // the first error says what is wrong
    throw err;
  }
  await metricsChanged();
  return id;
}

/** Makes a check, which has no versions. @returns its id */
export async function createCheck(projectId: string, scorer: NewJudge): Promise<string> {
  const body = { ...scorer, scorer_type: 'code', project_ids: [projectId] };
  const { id } = await send<Metric>('/scorers', { body, repeatable: false });
  await metricsChanged();
  return id;
}

/** Adds a version, which becomes the default, and changes what the judge says of all its versions. @returns its number */
export async function addJudgeVersion(id: string, scorer: ChangedJudge, version: NewJudgeVersion): Promise<number> {
  await send(`/scorers/${id}`, { method: 'PATCH', body: scorer });
  const added = await send<MetricVersion>(`/scorers/${id}/version/llm`, { body: version, repeatable: false });
  await metricsChanged();
  return added.version;
}

export async function changeMetric(id: string, change: ChangedJudge): Promise<void> {
  await send(`/scorers/${id}`, { method: 'PATCH', body: change });
  await metricsChanged();
}

export const defaultJudgeQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['default judge', projectId],
    queryFn: ({ signal }) => send<DefaultJudge>(`/projects/${projectId}/default_judge`, { signal }),
  });

/** @param model null: none */
export async function setDefaultJudge(projectId: string, model: string | null): Promise<void> {
  await send(`/projects/${projectId}/default_judge`, { method: 'PUT', body: { model } });
  await queryClient.invalidateQueries({ queryKey: ['default judge', projectId] });
}
