import { z } from 'zod';
import { homeProject } from '../../shared/assets/assetAccess.ts';
import type { CodeSandbox } from '../../shared/codeMetrics/codeSandbox.ts';
import { RequestInvalid } from '../../shared/errors/errors.ts';
import type { CodeGeneration, CodeGenerations } from '../../shared/scorers/generateCode.ts';
import { mustBeOn, unknownKind } from '../../shared/scorers/validateCode.ts';
import {
  CodeMetricGenerationStatusResponse,
  CreateCodeMetricGenerationRequest,
  CreateCodeMetricGenerationResponse,
} from '../../shared/wire/codeGenerations.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export interface CodeGenerationRouteDeps {
  sandbox: Pick<CodeSandbox, 'isOn'>;
  generations: CodeGenerations;
}

const tag = 'Scorers';
const access = { organization: 'write_assets' } as const;

/** Code of metrics that a model writes. */
export const codeGenerationRoutes = ({ sandbox, generations }: CodeGenerationRouteDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/code-metric-generations',
    errors: ['Forbidden', 'ModelUnknown'],
    summary: 'Have a model write the code of a metric',
    description:
      'The model gets the rules for code of metrics, and what this one is to measure. The service runs its code on a sample record, and sends code that fails back with the reason, twice at most. The calls are paid for. What came of it is at GET /code-metric-generations/{generation_id}/status; nothing is saved as a scorer.',
    tag,
    access,
    status: 202,
    body: CreateCodeMetricGenerationRequest,
    response: CreateCodeMetricGenerationResponse,
    async handle({ body, caller }) {
      mustBeOn(sandbox);
      const nodeType = body.node_type || 'trace';
      const problem = unknownKind(nodeType);
      if (problem !== undefined)
        throw new RequestInvalid([{ loc: ['body', 'node_type'], msg: problem, type: 'node_type', input: nodeType }]);
      const id = await generations.begin({
        sentence: body.user_message,
        nodeType,
        model: body.model_name || null,
        userId: caller.userId,
        projectId: homeProject(caller, undefined) ?? null,
      });
      return { id, status: 'generating' as const };
    },
  }),
  endpoint({
    method: 'get',
    path: '/code-metric-generations/{generation_id}/status',
    errors: ['NotFound'],
    summary: 'Read the code that a model wrote',
    description:
      'To be read by who asked for it, for a day. One that failed has the reason and, where there is one, the last draft.',
    tag,
    access,
    params: z.object({ generation_id: Uuid }),
    response: CodeMetricGenerationStatusResponse,
    handle: async ({ params, caller }) => toStatus(await generations.find(params.generation_id, caller.userId)),
  }),
];

function toStatus({ id, isDone, code, problem, isOver }: CodeGeneration): z.input<typeof CodeMetricGenerationStatusResponse> {
  const lost = !isDone && isOver ? 'the service ended before the code was written: ask again' : null;
  const error_message = problem ?? lost;
  const status = error_message !== null ? 'failed' : isDone ? 'completed' : 'generating';
  return { id, status, generated_code: code, error_message };
}
