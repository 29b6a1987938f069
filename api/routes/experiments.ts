import { createHash } from 'node:crypto';
import type { Request } from 'express';
import type { z } from 'zod';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import type { ColumnDef } from '../../shared/columns/columnDef.ts';
import { inPieces } from '../../shared/concurrency/inPieces.ts';
import { RequestInvalid } from '../../shared/errors/errors.ts';
import { assetsSeenBy } from '../../shared/experiments/assetsSeenBy.ts';
import { experimentColumns } from '../../shared/experiments/columns.ts';
import { type CreateDeps, createExperiment } from '../../shared/experiments/create.ts';
import type { FigureSettings } from '../../shared/experiments/experiment.ts';
import type { Creation } from '../../shared/experiments/experimentStore.ts';
import {
  allExperiments,
  countExperiments,
  type DeleteExperimentDeps,
  deleteExperiment,
  type ExperimentDeps,
  getExperiment,
  listExperiments,
  updateExperiment,
  view,
} from '../../shared/experiments/list.ts';
import type { MetricBuckets } from '../../shared/experiments/metricBuckets.ts';
import { withMetricKeys } from '../../shared/experiments/metricQuery.ts';
import { loggedMetricsOf } from '../../shared/experiments/metricScales.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { pageFields } from '../../shared/wire/common.ts';
import {
  ExperimentFiguresRequest,
  ExperimentMetricsRequest,
  ExperimentMetricsResponse,
} from '../../shared/wire/experimentFigures.ts';
import {
  ExperimentCountRequest,
  ExperimentCountResponse,
  ExperimentCreateRequest,
  ExperimentList,
  ExperimentParams,
  ExperimentResponse,
  ExperimentSearchRequest,
  ExperimentsAvailableColumnsResponse,
  ExperimentsPageQuery,
  ExperimentsQuery,
  ExperimentUpdateRequest,
  ListExperimentResponse,
} from '../../shared/wire/experiments.ts';
import type { Filter } from '../../shared/wire/filters.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint, type ProjectInPath } from '../http/route.ts';
import { bucketsToWire, experimentToWire, thinExperimentToWire } from '../views/experiment.ts';

export interface ExperimentRouteDeps extends CreateDeps, ExperimentDeps, DeleteExperimentDeps {
  assets: AssetAccess;
  /** Columns of the metrics that any run of the project computes. */
  metricColumns(projectId: string): Promise<ColumnDef[]>;
  /** Takes over how the figures of an experiment are made, and computes them anew. */
  changeFigures(experiment: RunRef, change: FigureSettings): Promise<void>;
  /** Values of the metrics of these experiments' records, counted in buckets; of the records that every filter keeps. */
  metricBuckets(projectId: string, experimentIds: readonly string[], filters: readonly Filter[]): Promise<MetricBuckets[]>;
}

const tag = 'Experiments';
const read = { project: 'read' } as const;

export function experimentRoutes(deps: ExperimentRouteDeps): Endpoint[] {
  const path = '/projects/{project_id}/experiments';
  const one = `${path}/{experiment_id}`;
  return [
    endpoint({
      method: 'get',
      path,
      summary: 'All experiments of a project',
      description: 'Newest first, never cut to a page.',
      tag,
      access: read,
      params: ProjectParams,
      query: ExperimentsQuery,
      response: ExperimentList,
      handle: async ({ project, query }) =>
        inPieces(await allExperiments(deps, project.id, query.include_counts), (piece) =>
          piece.map((one) => experimentToWire(one, project)),
        ),
    }),
    endpoint({
      method: 'post',
      path,
      errors: ['Conflict'],
      summary: 'Create an experiment',
      description:
        'With `trigger` its run starts in the same call: of the prompt template, or of the outputs in the dataset without one. What refuses the ' +
        'run leaves no experiment. Names need not be unique. A call repeated with the same `Idempotency-Key` header gives the same experiment. ' +
        'Without a group it goes to `<dataset name> Experiment Group`, or to `Ungrouped` when it has no dataset.',
      tag,
      access: { project: 'create_run' },
      params: ProjectParams,
      body: ExperimentCreateRequest,
      response: ExperimentResponse,
      handle: async ({ project, body, caller, request }) => {
        const seen = assetsSeenBy(deps, deps.assets, caller);
        return experimentToWire(
          await view(deps, await createExperiment(seen, project.id, caller.userId, body, creationOf(request, body))),
          project,
        );
      },
    }),
    endpoint({
      method: 'get',
      path: `${path}/paginated`,
      summary: 'Experiments of a project, in pages',
      tag,
      access: read,
      params: ProjectParams,
      query: ExperimentsPageQuery,
      response: ListExperimentResponse,
      handle: ({ project, query }) => pageOf(deps, project, { ...query, filters: [] }),
    }),
    endpoint({
      method: 'post',
      path: `${path}/search`,
      summary: 'Find experiments',
      tag,
      access: read,
      params: ProjectParams,
      body: ExperimentSearchRequest,
      response: ListExperimentResponse,
      handle: ({ project, body }) => pageOf(deps, project, body),
    }),
    endpoint({
      method: 'post',
      path: `${path}/count`,
      summary: 'Count experiments',
      description: 'Those that the filters of a search find.',
      tag,
      access: read,
      params: ProjectParams,
      body: ExperimentCountRequest,
      response: ExperimentCountResponse,
      handle: async ({ project, body }) => {
        const query = await withMetricKeys(body, () => columnsOf(deps, project.id));
        return { total_count: await countExperiments(deps, project.id, query) };
      },
    }),
    endpoint({
      method: 'post',
      path: `${path}/available_columns`,
      summary: 'Columns of a list of experiments',
      tag,
      access: read,
      params: ProjectParams,
      response: ExperimentsAvailableColumnsResponse,
      handle: async ({ project }) => ({ columns: await columnsOf(deps, project.id) }),
    }),
    endpoint({
      method: 'post',
      path: `${path}/metrics`,
      summary: 'Metrics of all experiments of a project, in buckets',
      tag,
      access: read,
      params: ProjectParams,
      body: ExperimentMetricsRequest,
      response: ExperimentMetricsResponse,
      handle: async ({ project, body }) => ({
        metrics: (await deps.metricBuckets(project.id, await deps.experiments.ids(project.id), body.filters)).map(bucketsToWire),
      }),
    }),
    endpoint({
      method: 'get',
      path: one,
      summary: 'An experiment',
      tag,
      access: read,
      params: ExperimentParams,
      response: ExperimentResponse,
      handle: async ({ project, params }) =>
        experimentToWire(await getExperiment(deps, project.id, params.experiment_id), project),
    }),
    endpoint({
      method: 'put',
      path: one,
      summary: 'Rename or move an experiment',
      description: 'Without a group it stays in its group.',
      tag,
      access: { project: 'rename_run' },
      params: ExperimentParams,
      body: ExperimentUpdateRequest,
      response: ExperimentResponse,
      handle: async ({ project, params, body, caller }) =>
        experimentToWire(await updateExperiment(deps, project.id, params.experiment_id, body, caller.userId), project),
    }),
    endpoint({
      method: 'patch',
      path: one,
      summary: 'Say how the figures of an experiment are made',
      description: 'The figures are computed anew before the answer comes; those of a run that goes on, at its end.',
      tag,
      access: { project: 'rename_run' },
      params: ExperimentParams,
      body: ExperimentFiguresRequest,
      response: ExperimentResponse,
      handle: async ({ project, params, body }) => {
        await deps.changeFigures({ projectId: project.id, runId: params.experiment_id }, figureSettings(body));
        return experimentToWire(await getExperiment(deps, project.id, params.experiment_id), project);
      },
    }),
    endpoint({
      method: 'delete',
      path: one,
      errors: ['Conflict'],
      summary: 'Delete an experiment with its records',
      description: 'A run that goes on is cancelled.',
      tag,
      access: { project: 'delete_run' },
      params: ExperimentParams,
      status: 204,
      handle: ({ project, params }) => deleteExperiment(deps, project.id, params.experiment_id),
    }),
    endpoint({
      method: 'post',
      path: `${one}/metrics`,
      summary: 'Metrics of an experiment, in buckets',
      tag,
      access: read,
      params: ExperimentParams,
      body: ExperimentMetricsRequest,
      response: ExperimentMetricsResponse,
      handle: async ({ project, params, body }) => {
        const { id } = await getExperiment(deps, project.id, params.experiment_id);
        return { metrics: (await deps.metricBuckets(project.id, [id], body.filters)).map(bucketsToWire) };
      },
    }),
  ];
}

const figureSettings = ({ failed_rows, logged_metrics }: z.output<typeof ExperimentFiguresRequest>): FigureSettings => ({
  ...(failed_rows ? { failedRows: failed_rows } : {}),
  ...(logged_metrics ? { loggedMetrics: loggedMetricsOf(logged_metrics) } : {}),
});

const columnsOf = async (deps: ExperimentRouteDeps, projectId: string) =>
  experimentColumns(...(await Promise.all([deps.metricColumns(projectId), deps.experiments.aggregatedMetrics(projectId)])));

async function pageOf(
  deps: ExperimentRouteDeps,
  project: ProjectInPath,
  request: Omit<z.output<typeof ExperimentSearchRequest>, 'thin'> & { thin?: boolean },
) {
  const { starting_token: offset, limit, include_counts } = request;
  const query = await withMetricKeys(request, () => columnsOf(deps, project.id));
  const { items, hasMore } = await listExperiments(deps, project.id, query, include_counts, { offset, limit });
  return {
    ...pageFields(request, items.length, hasMore),
    experiments: items.map((one) => (request.thin ? thinExperimentToWire : experimentToWire)(one, project)),
  };
}

const MAX_KEY_LENGTH = 255;

function creationOf(request: Request, body: ExperimentCreateRequest): Creation | null {
  const key = request.get('idempotency-key');
  if (key === undefined) return null;
  if (key.length === 0 || key.length > MAX_KEY_LENGTH)
    throw new RequestInvalid([
      { loc: ['header', 'Idempotency-Key'], msg: `must have 1 to ${MAX_KEY_LENGTH} characters`, type: 'string_length' },
    ]);
  return { key, requestHash: createHash('sha256').update(JSON.stringify(body)).digest('hex') };
}
