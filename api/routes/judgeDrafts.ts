import { z } from 'zod';
import { homeProject } from '../../shared/assets/assetAccess.ts';
import type { JudgeDraft, JudgeDrafts } from '../../shared/scorers/draftJudge.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { CreateLLMScorerAutogenRequest, GenerationResponse, JudgeDraftResponse } from '../../shared/wire/judgeDrafts.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

const tag = 'Scorers';
const access = { organization: 'write_assets' } as const;

/** Judges that a model writes. */
export const judgeDraftRoutes = ({ drafts }: { drafts: JudgeDrafts }): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/scorers/llm/autogen',
    errors: ['ModelUnknown', 'IntegrationNotFound'],
    summary: 'Have a model write a judge from a sentence',
    description:
      'The model gets the list of what a judge sees and may answer. A draft that cannot be used goes back to it with the reason, twice at most. The calls are paid for. What came of it is at GET /scorers/llm/autogen/{task_result_id}; nothing is saved as a scorer.',
    tag,
    access,
    body: CreateLLMScorerAutogenRequest,
    response: GenerationResponse,
    handle: async ({ body, caller }) => ({
      task_result_id: await drafts.begin({
        ...body,
        userId: caller.userId,
        projectId: homeProject(caller, undefined) ?? null,
      }),
    }),
  }),
  endpoint({
    method: 'get',
    path: '/scorers/llm/autogen/{task_result_id}',
    errors: ['NotFound'],
    summary: 'Read the judge that a model wrote',
    description: 'To be read by who asked for it, for a day. Its keys are those of a try-out, of a scorer and of its version.',
    tag,
    access,
    params: z.object({ task_result_id: Uuid }),
    response: JudgeDraftResponse,
    handle: async ({ params, caller }) => toDraft(await drafts.find(params.task_result_id, caller.userId)),
  }),
];

function toDraft({ id, judge, problem, isOver }: JudgeDraft): z.input<typeof JudgeDraftResponse> {
  const lost = judge === null && isOver ? 'the service ended before the judge was written: ask again' : null;
  const error_message = problem ?? lost;
  const status = judge !== null ? 'completed' : error_message !== null ? 'failed' : 'generating';
  return { task_result_id: id, status, result: judge, error_message };
}
