import { z } from 'zod';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import type { CodeSandbox } from '../../shared/codeMetrics/codeSandbox.ts';
import { RequestInvalid } from '../../shared/errors/errors.ts';
import { getScorer } from '../../shared/scorers/manageScorers.ts';
import { requiredMetrics } from '../../shared/scorers/requiredMetrics.ts';
import type { ScorerStore } from '../../shared/scorers/scorer.ts';
import { scorersSeenBy } from '../../shared/scorers/scorersSeenBy.ts';
import { addCodeVersion, getCode } from '../../shared/scorers/scorerVersions.ts';
import { type CodeValidation, type CodeValidations, codeOfFile, mustBeOn } from '../../shared/scorers/validateCode.ts';
import {
  CODE_BODY_LIMIT,
  CreateCodeVersionForm,
  listParts,
  RegisteredScorerTaskResultResponse,
  ValidateCodeForm,
  ValidateCodeScorerResponse,
} from '../../shared/wire/codeScorers.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { ScorerVersionResponse } from '../../shared/wire/scorerVersions.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { toVersion, VersionNumber } from '../scorers/scorerVersions.ts';

export interface CodeScorerRouteDeps {
  scorers: ScorerStore;
  assets: Pick<AssetAccess, 'roles'>;
  sandbox: Pick<CodeSandbox, 'isOn' | 'describe'>;
  validations: CodeValidations;
}

const tag = 'Scorers';
const ScorerPath = z.object({ scorer_id: Uuid });

/** Metrics of code that users write. */
export function codeScorerRoutes({ scorers, assets, sandbox, validations }: CodeScorerRouteDeps): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/scorers/code/validate',
      errors: ['Forbidden'],
      summary: 'Check the code of a metric',
      description:
        'The code is loaded and, with `test_input` or `test_output`, scores a record of each kind that has these texts. Values of `required_scorers` are `None` then. Lists are parts that come several times, or one part with a JSON list. What comes of it is at GET /scorers/code/validate/{task_id}.',
      tag,
      access: { organization: 'write_assets' },
      body: ValidateCodeForm,
      bodyKind: 'multipart',
      listParts,
      bodyLimit: CODE_BODY_LIMIT,
      response: ValidateCodeScorerResponse,
      handle: async ({ body, caller }) => {
        mustBeOn(sandbox);
        const { test_input: input, test_output: output } = body;
        const isTried = typeof input === 'string' || typeof output === 'string';
        const code = {
          code: await codeOfFile(body.file),
          nodeTypes: body.scoreable_node_types,
          required: (await requiredMetrics(scorersSeenBy(scorers, assets, caller), body)).map(({ name }) => name),
          sample: isTried ? { input: input ?? '', output: output ?? '' } : undefined,
        };
        return { task_id: await validations.begin(code, caller.userId) };
      },
    }),
    endpoint({
      method: 'get',
      path: '/scorers/code/validate/{task_id}',
      errors: ['NotFound'],
      summary: 'Read what came of a check of code',
      description:
        'To be read by who asked for it, for a day. Code that cannot be used is `completed` with a result that is `invalid`.',
      tag,
      access: { organization: 'write_assets' },
      params: z.object({ task_id: Uuid }),
      response: RegisteredScorerTaskResultResponse,
      handle: async ({ params, caller }) => toTask(await validations.find(params.task_id, caller.userId)),
    }),
    endpoint({
      method: 'post',
      path: '/scorers/{scorer_id}/version/code',
      errors: ['Forbidden'],
      summary: 'Add a version of a code scorer',
      description:
        'The code is loaded once more; kinds of records come from the result of its validation. The new version is the latest and the default.',
      tag,
      access: { asset: 'scorer', action: 'update' },
      params: ScorerPath,
      body: CreateCodeVersionForm,
      bodyKind: 'multipart',
      bodyLimit: CODE_BODY_LIMIT,
      response: ScorerVersionResponse,
      handle: async ({ params, body, caller, signal }) => {
        mustBeOn(sandbox);
        const { validation_result: validated } = body;
        if (validated.result_type === 'invalid')
          throw refused('validation_result', `the code is invalid: ${validated.error_message}`);
        const code = await codeOfFile(body.file);
        const described = await sandbox.describe(`user/${caller.userId}`, code, signal);
        if ('error' in described) throw refused('file', described.error);
        const version = await addCodeVersion(scorers, params.scorer_id, { code, described, validated }, caller.userId);
        return toVersion(version, await getScorer(scorers, params.scorer_id));
      },
    }),
    endpoint({
      method: 'get',
      path: '/scorers/{scorer_id}/version/code',
      errors: ['NotFound'],
      summary: 'Read the code of a version, the latest by default',
      tag,
      access: { asset: 'scorer', action: 'read' },
      params: ScorerPath,
      query: z.object({ version: VersionNumber.nullish() }),
      response: z.string().describe('The source.'),
      handle: async ({ params, query }) => (await getCode(scorers, params.scorer_id, query.version ?? undefined)).code,
    }),
  ];
}

const refused = (part: string, msg: string): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', part], msg, type: 'code_invalid' }]);

function toTask({
  id,
  result,
  createdAt,
  updatedAt,
  isOver,
}: CodeValidation): z.input<typeof RegisteredScorerTaskResultResponse> {
  const given = { id, created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() };
  if (result) return { ...given, status: 'completed', result };
  return isOver
    ? { ...given, status: 'failed', result: 'the service ended before the code was checked: validate it again' }
    : { ...given, status: 'pending', result: null };
}
