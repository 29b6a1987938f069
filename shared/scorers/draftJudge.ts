import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import { jsonObjectsIn } from '../metrics/judging/readVerdict.ts';
import type { ModelCaller } from '../modelCalls/modelCall.ts';
import type { CreateLLMScorerAutogenRequest, DraftedJudge } from '../wire/judgeDrafts.ts';
import { MetricRange } from '../wire/metricScale.ts';
import { Categories, ChainPollTemplate } from '../wire/scorers.ts';
import { draftMessages, mendDraft } from './judgeDraftPrompt.ts';
import {
  createDrafts,
  type DraftDeps,
  type DraftStore,
  type Drafts,
  type Examined,
  storable,
  writeByModel,
} from './modelDrafts.ts';
import { unsavedJudge } from './unsavedJudge.ts';

/** A judge that a model writes, and what came of it. */
export interface JudgeDraft {
  id: string;
  /** Null while the model is at work, and where it wrote none that can be used. */
  judge: DraftedJudge | null;
  /** Why there is none. */
  problem: string | null;
  /** It began so long ago that its process must have ended. */
  isOver: boolean;
}

export type Drafted = Pick<JudgeDraft, 'judge' | 'problem'>;

export type JudgeDraftStore = DraftStore<Drafted, JudgeDraft>;

export interface JudgeDraftRequest extends CreateLLMScorerAutogenRequest {
  userId: string;
  projectId: string | null;
}

const Draft = z.object({
  name: z.string().trim().min(1).max(255),
  description: z.string().trim().max(2_000).default(''),
  user_prompt: z.string().trim().min(1).max(20_000),
  categories: Categories.nullish(),
  range: MetricRange.nullish(),
});

/**
 * Has a model write a judge until it can be used: its placeholders are known, and labels and a scale suit what it answers.
 * @param model as `integration/model`
 * @throws the signal's reason; ServiceError when the service's own stores are at fault
 */
export async function draftJudge(
  models: Pick<ModelCaller, 'complete'>,
  id: string,
  { model, ...request }: JudgeDraftRequest & { model: string },
  signal: AbortSignal,
): Promise<Drafted> {
  const { userId, projectId } = request;
  const asked = { jobId: `judge-draft/${id}`, model, userId, projectId, messages: draftMessages(request) };
  const { draft, problem, isAnswered } = await writeByModel(
    models,
    asked,
    (answer) => judgeIn(answer, request),
    mendDraft,
    signal,
  );
  if (problem === null) return { judge: draft, problem };
  return { judge: null, problem: isAnswered ? `the model wrote no judge that can be used: ${problem}` : problem };
}

/** The judge in an answer, or what is wrong with it. */
function judgeIn(answer: string, request: JudgeDraftRequest): Examined<DraftedJudge> {
  const object = jsonObjectsIn(answer).findLast((one) => 'user_prompt' in one);
  if (!object) return { draft: null, problem: 'the answer has no JSON object with "user_prompt"' };
  const { data: draft, error } = Draft.safeParse(object);
  if (!draft) {
    const [issue] = error.issues;
    return { draft: null, problem: `"${issue?.path.join('.')}" of the answer: ${issue?.message}` };
  }
  const { instructions, output_type, cot_enabled, scoreable_node_types } = request;
  const scale = { categories: draft.categories ?? null, range: draft.range ?? null };
  const judge: DraftedJudge = {
    name: draft.name,
    description: draft.description,
    user_prompt: storable(draft.user_prompt),
    instructions,
    ...scale,
    chain_poll_template: ChainPollTemplate.parse({ template: storable(draft.user_prompt) }),
    scorer_configuration: { output_type, scoreable_node_types, cot_enabled, ...scale },
  };
  try {
    unsavedJudge({ query: '', response: '', ...judge, scorer_configuration: tried(judge) }, request.userId);
    return { draft: judge, problem: null };
  } catch (err) {
    if (err instanceof RequestInvalid) return { draft: null, problem: err.items.map(({ msg }) => msg).join('; ') };
    throw err;
  }
}

const tried = ({ scorer_configuration }: DraftedJudge) => ({ ...scorer_configuration, ground_truth: false });

export type JudgeDrafts = Drafts<JudgeDraftRequest, JudgeDraft>;

export const createJudgeDrafts = (deps: DraftDeps<Drafted, JudgeDraft>): JudgeDrafts =>
  createDrafts(deps, {
    modelOf: ({ model_name }: JudgeDraftRequest) => model_name,
    write: (id, request, model, signal) => draftJudge(deps.models, id, { ...request, model }, signal),
    failed: (reason): Drafted => ({ judge: null, problem: `no judge could be written: ${reason}` }),
    missing: (id) => `no draft of yours has the id ${id}`,
  });
