import type { z } from 'zod';
import type { Caller } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { modelsOfUser, mustHaveJudges } from '../../shared/scorers/judge.ts';
import { requiredMetrics } from '../../shared/scorers/requiredMetrics.ts';
import type { EnabledMetric, ScorerLookup } from '../../shared/scorers/resolveMetrics.ts';
import { scorersSeenBy } from '../../shared/scorers/scorersSeenBy.ts';
import { unsavedJudge } from '../../shared/scorers/unsavedJudge.ts';
import { usableScorers } from '../../shared/scorers/usableScorers.ts';
import { type MetricTryOut, type MetricTryOutDeps, type TryOutSource, tryMetric } from '../../shared/scoring/metricTryOut.ts';
import {
  GeneratedScorerValidationResponse,
  MAX_SAMPLES,
  MAX_TRIED_FILE_BYTES,
  ManualLlmValidateForm,
  type UnsavedJudge,
  ValidateLLMScorerDatasetRequest,
  ValidateLLMScorerLogRecordRequest,
  ValidateLLMScorerRequest,
  ValidateLLMScorerResponse,
} from '../../shared/wire/judgeTryOut.ts';
import { GENERATED_SCORER } from '../../shared/wire/metricsTesting.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { textsWithFiles } from '../scorers/triedFiles.ts';
import { type TryOutSourceDeps, tryOutSources } from '../scorers/tryOutSources.ts';

export interface JudgeTryOutRouteDeps extends TryOutSourceDeps {
  assets: Pick<AssetAccess, 'require' | 'roles'>;
  scorers: ScorerLookup;
  models: Parameters<typeof mustHaveJudges>[0];
  defaultJudge(projectId: string): Promise<string | null>;
  tryOut: MetricTryOutDeps;
}

const tag = 'Scorers';
/** Bytes of a form beside its files. */
const FORM_BYTES = 1024 * 1024;
/** A try-out is paid for: it needs the right to make scorers and, in the project, to have records scored. */
const access = { organization: 'write_assets' } as const;
const what = `The judge is asked as one that is saved, on at most ${MAX_SAMPLES} samples, and nothing is written to what it judges. The answer has what it said of each sample or why it said nothing, what that cost, and the causes summed up: also where no sample has a value. The samples are kept in a metrics-testing run, with their values as \`metrics/${GENERATED_SCORER}\`. `;

/** Tries out a judge that is not saved. */
export function judgeTryOutRoutes(deps: JudgeTryOutRouteDeps): Endpoint[] {
  const from = tryOutSources(deps);

  const judgeOf = async (body: UnsavedJudge, caller: Caller, projectId: string): Promise<EnabledMetric> => {
    const { required_scorers, required_metric_ids } = body.scorer_configuration;
    const seen = usableScorers(scorersSeenBy(deps.scorers, deps.assets, caller), [projectId]);
    const named = { required_scorers, required_metric_ids };
    const required = await requiredMetrics(seen, named, undefined, ['body', 'scorer_configuration']);
    const judge = unsavedJudge(body, caller.userId, required);
    await mustHaveJudges(modelsOfUser(deps.models, caller.userId), [judge], () => deps.defaultJudge(projectId));
    return judge;
  };

  const tryOn = (
    caller: Caller,
    projectId: string,
    judge: EnabledMetric,
    sources: readonly TryOutSource[],
    signal: AbortSignal,
  ): Promise<MetricTryOut> => tryMetric(deps.tryOut, { projectId, userId: caller.userId, metric: judge, sources }, signal);

  const answer = (projectId: string, matching: number, { samples, summary }: MetricTryOut) => ({
    ...{ project_id: projectId, metric: GENERATED_SCORER, matching, samples, summary },
  });

  const tryOnText = async (
    body: z.output<typeof ValidateLLMScorerRequest>,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<z.input<typeof GeneratedScorerValidationResponse>> => {
    const projectId = await from.projectOf(caller, body.project_id);
    const judge = await judgeOf(body, caller, projectId);
    const source = from.text(judge, { input: body.query, output: body.response });
    const tried = await tryOn(caller, projectId, judge, [source], signal);
    return { task_result_id: tried.runId, ...answer(projectId, 1, tried) };
  };

  return [
    endpoint({
      method: 'post',
      path: '/scorers/llm/validate',
      errors: ['NotFound'],
      summary: 'Try out a judge that is not saved, on one question and answer',
      description: `${what}\`task_result_id\` is the id of that run.`,
      tag,
      access,
      waits: true,
      body: ValidateLLMScorerRequest,
      response: GeneratedScorerValidationResponse,
      handle: ({ body, caller, signal }) => tryOnText(body, caller, signal),
    }),
    endpoint({
      method: 'post',
      path: '/scorers/llm/validate/multipart',
      errors: ['NotFound'],
      summary: 'Try out a judge that is not saved, with the request as a part of a form',
      description: `${what}The part \`body\` is the request as JSON. Files of \`query_files\` and \`response_files\` belong to the question and to the answer, at most ${MAX_TRIED_FILE_BYTES / 1024 / 1024} MB together: texts stand behind it, images are shown to a judge with \`vision\` among its \`multimodal_capabilities\`.`,
      tag,
      access,
      waits: true,
      body: ManualLlmValidateForm,
      bodyKind: 'multipart',
      listParts: ['query_files', 'response_files'],
      bodyLimit: MAX_TRIED_FILE_BYTES + FORM_BYTES,
      response: GeneratedScorerValidationResponse,
      async handle({ body: { body, ...files }, caller, signal }) {
        const isSeeing = body.scorer_configuration.multimodal_capabilities?.includes('vision') === true;
        return tryOnText({ ...body, ...(await textsWithFiles(body, files, isSeeing)) }, caller, signal);
      },
    }),
    endpoint({
      method: 'post',
      path: '/scorers/llm/validate/log_record',
      errors: ['NotFound', 'RunNotFound'],
      summary: 'Try out a judge that is not saved, on stored records',
      description: `${what}The run, the filters and the paging keys choose the records, of the kinds in \`scoreable_node_types\`; \`query\` and \`response\` are not looked at.`,
      tag,
      access,
      waits: true,
      body: ValidateLLMScorerLogRecordRequest,
      response: ValidateLLMScorerResponse,
      async handle({ body, caller, signal }) {
        const run = await from.runOf(caller, body);
        const judge = await judgeOf(body, caller, run.projectId);
        const { sources, matching } = await from.records(run, judge, body);
        const tried = await tryOn(caller, run.projectId, judge, sources, signal);
        return { metrics_experiment_id: tried.runId, ...answer(run.projectId, matching, tried) };
      },
    }),
    endpoint({
      method: 'post',
      path: '/scorers/llm/validate/dataset',
      errors: ['NotFound'],
      summary: 'Try out a judge that is not saved, on rows of a dataset',
      description: `${what}Of a row the judge sees its input and, as the output, its \`generated_output\` or else its reference answer; \`query\` and \`response\` are not looked at.`,
      tag,
      access,
      waits: true,
      body: ValidateLLMScorerDatasetRequest,
      response: ValidateLLMScorerResponse,
      async handle({ body, caller, signal }) {
        const projectId = await from.projectOf(caller, body.project_id);
        await from.mayRead(caller, body.dataset_id);
        const judge = await judgeOf(body, caller, projectId);
        const { sources, matching } = await from.rows(judge, body);
        const tried = await tryOn(caller, projectId, judge, sources, signal);
        return { metrics_experiment_id: tried.runId, ...answer(projectId, matching, tried) };
      },
    }),
  ];
}
