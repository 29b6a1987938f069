import { z } from 'zod';
import { type AssetAccess, homeProject } from '../../shared/assets/assetAccess.ts';
import type { Extensions } from '../../shared/datasetExtensions/openExtensions.ts';
import { Uuid } from '../../shared/wire/common.ts';
import {
  JobProgress,
  SyntheticDatasetExtensionRequest,
  SyntheticDatasetExtensionResponse,
} from '../../shared/wire/datasetExtensions.ts';
import { type Endpoint, endpoint, type Gate } from '../http/route.ts';

export interface DatasetExtensionDeps {
  gate: Pick<Gate, 'authorize'>;
  assets: AssetAccess;
  extensions: Extensions;
}

const tag = 'Datasets';

/** Datasets whose rows a model makes. */
export const datasetExtensionRoutes = ({ gate, assets, extensions }: DatasetExtensionDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/datasets/extend',
    errors: ['ModelUnknown', 'NotFound'],
    summary: 'Have a model make rows of a dataset',
    description:
      'Answers at once with the id of a new dataset, which the rows come into when all are made: up to 1,000, ten a call of the model. It goes on through restarts. With a source dataset the rows are like its rows and have its columns; else they have an `input`. With `data_types` the rows are spread over the kinds, and `data_type` says which.',
    tag,
    access: { organization: 'write_assets' },
    body: SyntheticDatasetExtensionRequest,
    response: SyntheticDatasetExtensionResponse,
    async handle({ body, caller }) {
      const projectId = homeProject(caller, body.project_id ?? undefined);
      if (projectId !== undefined) await gate.authorize(caller, { project: 'update' }, projectId);
      if (body.source_dataset) await assets.require(caller, 'dataset', body.source_dataset.dataset_id, 'read');
      const viewer = await assets.viewer(caller);
      const dataset = await extensions.request(body, { userId: caller.userId, viewer, projectId });
      return { dataset_id: dataset.id };
    },
  }),
  endpoint({
    method: 'get',
    path: '/datasets/extend/{dataset_id}',
    summary: 'How far a model is with the rows of a dataset',
    description:
      'Steps are rows. It has ended when all steps are completed; a message with `unexpected error` then says that it could not go on. The rows made until then are in the dataset.',
    tag,
    access: { asset: 'dataset', action: 'read' },
    params: z.object({ dataset_id: Uuid }),
    response: JobProgress,
    async handle({ params }) {
      const { message, stepsCompleted, stepsTotal } = await extensions.progress(params.dataset_id);
      return { progress_message: message, steps_completed: stepsCompleted, steps_total: stepsTotal };
    },
  }),
];
