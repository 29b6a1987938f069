import type { z } from 'zod';
import type { EstimateReply } from '../shared/wire/experimentEstimate.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { checkDatasetChoice, chooseRows, type DatasetReference } from './chooseDataset.ts';
import { chooseScorers, type MetricChoice } from './chooseMetrics.ts';
import { ValueError } from './errors.ts';
import { type PromptSettings, settingsKeys } from './promptSettings.ts';
import { type RowSelection, selectionToWire } from './rowSelection.ts';

export type ExperimentEstimate = z.output<typeof EstimateReply>;

export interface EstimateExperimentOptions extends OperationOptions {
  /** A dataset or its name. */
  dataset: DatasetReference | string;
  /** The version of a prompt that would run the rows. Absent, as `module` and `url` are: the rows hold their outputs. */
  promptVersionId?: string | undefined;
  /** All settings of that prompt; those of the version without it. */
  promptSettings?: PromptSettings | undefined;
  module?: string | undefined;
  url?: string | undefined;
  metrics?: readonly Exclude<MetricChoice, { score: unknown }>[] | undefined;
  rows?: RowSelection | undefined;
  trials?: number | undefined;
}

/**
 * Estimates the cost of a run from a sample of its rows. Starts nothing and calls no model. `cost` is null and `is_whole` false when a price is unknown.
 * @throws ValueError where a name is unknown; HttpStatusError for what would refuse the run
 */
export async function estimateExperiment(options: EstimateExperimentOptions): Promise<ExperimentEstimate> {
  const { promptVersionId, promptSettings, module, url, rows, trials, dataset } = options;
  if ([promptVersionId, module, url].filter((one) => one !== undefined).length > 1)
    throw new ValueError('give only one of promptVersionId, module and url');
  checkDatasetChoice({ dataset });
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  const [chosen, { scorers }] = await Promise.all([
    chooseRows(client, { dataset }),
    chooseScorers(client, options.metrics ?? []),
  ]);
  return client.send<ExperimentEstimate>(`/projects/${projectId}/experiments/estimate`, {
    body: {
      ...chosen,
      ...(promptVersionId && {
        runner: {
          kind: 'prompt_template',
          prompt_template_version_id: promptVersionId,
          prompt_settings: promptSettings && settingsKeys(promptSettings),
        },
      }),
      ...(module && { runner: { kind: 'module', name: module } }),
      ...(url && { runner: { kind: 'http', url } }),
      ...(scorers.length > 0 && { scorers }),
      rows: rows && selectionToWire(rows),
      trials,
    },
    repeatable: true,
  });
}
