import { ServiceError } from '../errors/errors.ts';
import { ModelCallError, type ModelCaller } from '../modelCalls/modelCall.ts';
import { nameOfModel } from '../modelCalls/models.ts';
import type { ChatMessage } from '../providers/chatMessage.ts';

/** Drafts of one thing: a model that heard twice what is wrong will not mend it. */
const MAX_DRAFTS = 3;
const MAX_ANSWER_TOKENS = 4_096;
const MAX_CALL_ATTEMPTS = 3;
/** Milliseconds for all drafts together, below the time after which a draft counts as lost. */
const MAX_MS = 8 * 60_000;

/** The draft in an answer of the model. Its `problem` is null where the draft can be used. */
export interface Examined<T> {
  draft: T | null;
  problem: string | null;
}

/** A request for a draft, with the model, as `integration/model`, that writes it. */
interface Asked {
  jobId: string;
  model: string;
  userId: string;
  projectId: string | null;
  messages: ChatMessage[];
}

/**
 * Has a model write until its answer can be used, and gives it what is wrong with the last one.
 * @param examine finds the draft in an answer
 * @param mend makes the messages that follow an answer with a problem
 * @returns the last draft, and why it cannot be used; `isAnswered` is false where the model could not be asked
 * @throws the signal's reason; ServiceError when the service's own stores are at fault
 */
export async function writeByModel<T>(
  models: Pick<ModelCaller, 'complete'>,
  { jobId, model, userId, projectId, messages }: Asked,
  examine: (answer: string) => Examined<T> | Promise<Examined<T>>,
  mend: (answer: string, problem: string) => ChatMessage[],
  signal: AbortSignal,
): Promise<Examined<T> & { isAnswered: boolean }> {
  const conversation = [...messages];
  let last: Examined<T> = { draft: null, problem: null };
  for (let drafts = 0; drafts < MAX_DRAFTS; drafts++) {
    let text: string;
    try {
      const answer = await models.complete({
        modelAlias: model,
        messages: conversation,
        settings: { max_tokens: MAX_ANSWER_TOKENS, temperature: 0 },
        mayLeaveOut: true,
        context: { jobId, userId, projectId },
        retry: { maxAttempts: MAX_CALL_ATTEMPTS },
        signal,
      });
      text = answer.text;
    } catch (err) {
      if (err instanceof ModelCallError)
        return { ...last, problem: `the model could not be asked: ${err.message}`, isAnswered: false };
      throw err;
    }
    const { draft, problem } = await examine(text);
    last = { draft: draft ?? last.draft, problem };
    if (problem === null) break;
    conversation.push(...mend(text, problem));
  }
  return { ...last, isAnswered: true };
}

/** Makes a model's text such that it can be stored: Postgres holds no NUL, and UTF-8 no half of a character. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\u0000', '');

/** Drafts of a kind as they are kept, each for the user who began it. */
export interface DraftStore<Outcome, Kept> {
  begin(id: string, userId: string): Promise<void>;
  end(id: string, outcome: Outcome): Promise<void>;
  /** One that this user began. */
  find(id: string, userId: string): Promise<Kept | undefined>;
}

export interface Drafts<DraftRequest, Kept> {
  /** Begins to write one. @returns the id under which it is found @throws ServiceError `ModelUnknown`, `IntegrationNotFound` */
  begin(request: DraftRequest): Promise<string>;
  /** @throws ServiceError `NotFound` for one that this user did not begin */
  find(id: string, userId: string): Promise<Kept>;
}

export interface DraftDeps<Outcome, Kept> {
  models: Pick<ModelCaller, 'complete' | 'resolveModel'>;
  store: DraftStore<Outcome, Kept>;
  newId(): string;
  onError(err: unknown): void;
}

/** One kind of draft: its writer, and the texts of its errors. */
export interface DraftKind<DraftRequest, Outcome> {
  /** The model that the caller chose; null or undefined: the default of the first integration. */
  modelOf(request: DraftRequest): string | null | undefined;
  write(id: string, request: DraftRequest, model: string, signal: AbortSignal): Promise<Outcome>;
  /** The outcome where the service failed, for a reason. */
  failed(reason: string): Outcome;
  /** `no draft of yours has the id 1` */
  missing(id: string): string;
}

/** Writes drafts of a kind behind the answer, and keeps what came of each. */
export function createDrafts<DraftRequest extends { userId: string }, Outcome, Kept>(
  { models, store, newId, onError }: DraftDeps<Outcome, Kept>,
  kind: DraftKind<DraftRequest, Outcome>,
): Drafts<DraftRequest, Kept> {
  return {
    async begin(request) {
      const model = nameOfModel(await models.resolveModel(kind.modelOf(request), null, request.userId));
      const id = newId();
      await store.begin(id, request.userId);
      const write = async () => {
        const outcome = await kind.write(id, request, model, AbortSignal.timeout(MAX_MS)).catch((err: unknown) => {
          if (!(err instanceof ServiceError)) onError(err);
          return kind.failed(err instanceof ServiceError ? err.message : 'the service failed, see its log');
        });
        await store.end(id, outcome);
      };
      write().catch(onError);
      return id;
    },
    async find(id, userId) {
      const kept = await store.find(id, userId);
      if (!kept) throw new ServiceError('NotFound', `${kind.missing(id)}; they are kept for a day`);
      return kept;
    },
  };
}
