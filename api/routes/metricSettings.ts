import { z } from 'zod';
import type { Caller } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import type { RefusedMetric } from '../../shared/scorers/resolveMetrics.ts';
import { readRunSettings, saveRunSettings } from '../../shared/scorers/runSettings.ts';
import type { RunScorerSettings, ScorerStore } from '../../shared/scorers/scorer.ts';
import { scorersSeenBy } from '../../shared/scorers/scorersSeenBy.ts';
import { Uuid } from '../../shared/wire/common.ts';
import {
  MetricSettingsRequest,
  MetricSettingsResponse,
  RunScorerSettingsRequest,
  RunScorerSettingsResponse,
} from '../../shared/wire/scorers.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

const tag = 'Metric settings';
const description =
  'A list that is sent replaces the stored one; one that is absent or null stays. A scorer that cannot be computed is left out, and `not_set` says why; a list ' +
  'of such scorers alone is refused.';
const RunPath = z.object({ project_id: Uuid, run_id: Uuid });
const read = { project: 'read' } as const;
const write = { project: 'set_metric' } as const;

export interface MetricSettingsDeps {
  scorers: ScorerStore;
  assets: AssetAccess;
}

/** The metrics switched on for a run, in the two forms of the interface: by run, and by log stream or experiment. */
export function metricSettingsRoutes({ scorers, assets }: MetricSettingsDeps): Endpoint[] {
  const seenBy = (caller: Caller) => scorersSeenBy(scorers, assets, caller);
  return [
    endpoint({
      method: 'get',
      path: '/projects/{project_id}/runs/{run_id}/scorer-settings',
      summary: 'Metrics of a run',
      tag,
      access: read,
      params: RunPath,
      response: RunScorerSettingsResponse,
      handle: async ({ params, project }) =>
        toRunSettings(params.run_id, await readRunSettings(scorers, project.id, params.run_id)),
    }),
    ...(['post', 'patch'] as const).map((method) =>
      endpoint({
        method,
        path: '/projects/{project_id}/runs/{run_id}/scorer-settings',
        errors: ['Conflict'],
        summary: 'Set the metrics of a run',
        description,
        tag,
        access: write,
        params: RunPath,
        body: RunScorerSettingsRequest,
        response: RunScorerSettingsResponse,
        handle: async ({ params, body, project, caller }) =>
          toRunSettings(
            params.run_id,
            await saveRunSettings(seenBy(caller), project.id, params.run_id, {
              scorers: body.scorers,
              segmentFilters: body.segment_filters,
            }),
          ),
      }),
    ),
    ...settingsOf(
      'log_stream',
      'log_streams',
      z.object({ project_id: Uuid, log_stream_id: Uuid }),
      (params) => params.log_stream_id,
      scorers,
      seenBy,
    ),
    ...settingsOf(
      'experiment',
      'experiments',
      z.object({ project_id: Uuid, experiment_id: Uuid }),
      (params) => params.experiment_id,
      scorers,
      seenBy,
    ),
  ];
}

function settingsOf<P extends z.ZodObject>(
  kind: 'log_stream' | 'experiment',
  collection: string,
  params: P,
  runId: (params: z.output<P>) => string,
  scorers: ScorerStore,
  seenBy: (caller: Caller) => ScorerStore,
): Endpoint[] {
  const path = `/projects/{project_id}/${collection}/{${kind}_id}/metric_settings`;
  const what = kind === 'experiment' ? 'an experiment' : 'a log stream';
  return [
    endpoint({
      method: 'get',
      path,
      summary: `Metrics of ${what}`,
      tag,
      access: read,
      params,
      response: MetricSettingsResponse,
      handle: async (request) =>
        toSettings(await readRunSettings(scorers, request.project.id, runId(request.params as z.output<P>), [kind])),
    }),
    endpoint({
      method: 'patch',
      path,
      errors: ['Conflict'],
      summary: `Set the metrics of ${what}`,
      description,
      tag,
      access: write,
      params,
      body: MetricSettingsRequest,
      response: MetricSettingsResponse,
      handle: async ({ params: inPath, body, project, caller }) =>
        toSettings(
          await saveRunSettings(
            seenBy(caller),
            project.id,
            runId(inPath as z.output<P>),
            { scorers: body.scorers, segmentFilters: body.segment_filters },
            [kind],
          ),
        ),
    }),
  ];
}

const toSettings = ({ scorers, segmentFilters, notSet = [] }: RunScorerSettings & { notSet?: RefusedMetric[] }) => ({
  ...(notSet.length > 0
    ? { not_set: notSet.map(({ index, named, problem }) => ({ index, scorer: named, reason: problem })) }
    : {}),
  scorers,
  segment_filters: segmentFilters,
});
const toRunSettings = (runId: string, settings: RunScorerSettings & { notSet?: RefusedMetric[] }) => ({
  ...toSettings(settings),
  run_id: runId,
});
