import type { z } from 'zod';
import type { Caller } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import type { CodeSandbox } from '../../shared/codeMetrics/codeSandbox.ts';
import { type JudgeModels, modelsOfUser, mustHaveJudges } from '../../shared/scorers/judge.ts';
import { requiredMetrics } from '../../shared/scorers/requiredMetrics.ts';
import type { EnabledMetric, ScorerLookup } from '../../shared/scorers/resolveMetrics.ts';
import { scorersSeenBy } from '../../shared/scorers/scorersSeenBy.ts';
import { unsavedCode } from '../../shared/scorers/unsavedCode.ts';
import { usableScorers } from '../../shared/scorers/usableScorers.ts';
import { codeOfFile, mustBeOn } from '../../shared/scorers/validateCode.ts';
import { type MetricTryOutDeps, tryMetric } from '../../shared/scoring/metricTryOut.ts';
import {
  CODE_BODY_LIMIT,
  listParts,
  ValidateCodeDatasetForm,
  ValidateCodeLogRecordForm,
  ValidateCodeTryOutResponse,
} from '../../shared/wire/codeScorers.ts';
import { MAX_SAMPLES } from '../../shared/wire/judgeTryOut.ts';
import { REGISTERED_SCORER } from '../../shared/wire/metricsTesting.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { type TryOutPage, type TryOutSourceDeps, tryOutSources } from '../scorers/tryOutSources.ts';

export interface CodeTryOutRouteDeps extends TryOutSourceDeps {
  assets: Pick<AssetAccess, 'require' | 'roles'>;
  scorers: ScorerLookup;
  models: JudgeModels;
  defaultJudge(projectId: string): Promise<string | null>;
  sandbox: Pick<CodeSandbox, 'isOn' | 'describe' | 'score'>;
  tryOut: MetricTryOutDeps;
}

type CodeParts = Pick<
  z.output<typeof ValidateCodeLogRecordForm>,
  'file' | 'scoreable_node_types' | 'required_scorers' | 'required_metric_ids'
> & {
  score_type?: z.output<typeof ValidateCodeDatasetForm>['score_type'];
};

const what = `The code runs as that of a saved metric, on at most ${MAX_SAMPLES} samples, and nothing is written to what it scores. The answer has the value of each sample or why there is none, and the causes summed up. The samples are kept in a metrics-testing run, with their values as \`metrics/${REGISTERED_SCORER}\`. `;
const common = {
  tag: 'Scorers',
  access: { organization: 'write_assets' },
  waits: true,
  bodyKind: 'multipart',
  listParts,
  bodyLimit: CODE_BODY_LIMIT,
  response: ValidateCodeTryOutResponse,
} as const;

/** Tries out the code of a metric that is not saved. */
export function codeTryOutRoutes(deps: CodeTryOutRouteDeps): Endpoint[] {
  const from = tryOutSources(deps);

  const metricOf = async (body: CodeParts, caller: Caller, projectId: string, signal: AbortSignal): Promise<EnabledMetric> => {
    const source = {
      code: await codeOfFile(body.file),
      nodeTypes: body.scoreable_node_types,
      requires: await requiredMetrics(usableScorers(scorersSeenBy(deps.scorers, deps.assets, caller), [projectId]), body),
      scoreType: body.score_type ?? undefined,
    };
    await mustHaveJudges(
      modelsOfUser(deps.models, caller.userId),
      source.requires.map(({ metric }) => metric),
      () => deps.defaultJudge(projectId),
    );
    return unsavedCode(deps.sandbox, source, caller.userId, signal);
  };

  const tryOn = async (
    caller: Caller,
    projectId: string,
    metric: EnabledMetric,
    { sources, matching }: TryOutPage,
    signal: AbortSignal,
  ): Promise<z.input<typeof ValidateCodeTryOutResponse>> => {
    const { runId, ...tried } = await tryMetric(deps.tryOut, { projectId, userId: caller.userId, metric, sources }, signal);
    return { metrics_experiment_id: runId, project_id: projectId, metric: REGISTERED_SCORER, matching, ...tried };
  };

  return [
    endpoint({
      ...common,
      method: 'post',
      path: '/scorers/code/validate/log_record',
      errors: ['Forbidden', 'NotFound', 'RunNotFound'],
      summary: 'Try out the code of a metric on stored records',
      description: `${what}The run, the filters and the paging parts choose the records, of the kinds in \`scoreable_node_types\` or else those that the code names.`,
      body: ValidateCodeLogRecordForm,
      async handle({ body, caller, signal }) {
        mustBeOn(deps.sandbox);
        const run = await from.runOf(caller, body);
        const metric = await metricOf(body, caller, run.projectId, signal);
        const { filters: filter_tree, ...place } = body;
        const page = await from.records(run, metric, { ...place, filter_tree });
        return tryOn(caller, run.projectId, metric, page, signal);
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/scorers/code/validate/dataset',
      errors: ['Forbidden', 'NotFound'],
      summary: 'Try out the code of a metric on rows of a dataset',
      description: `${what}Of a row the code gets its input and, as the output, its \`generated_output\` or else its reference answer.`,
      body: ValidateCodeDatasetForm,
      async handle({ body, caller, signal }) {
        mustBeOn(deps.sandbox);
        const projectId = await from.projectOf(caller, body.project_id);
        await from.mayRead(caller, body.dataset_id);
        const metric = await metricOf(body, caller, projectId, signal);
        return tryOn(caller, projectId, metric, await from.rows(metric, body), signal);
      },
    }),
  ];
}
