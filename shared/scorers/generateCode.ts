import type { CodeSandbox } from '../codeMetrics/codeSandbox.ts';
import type { ModelCaller } from '../modelCalls/modelCall.ts';
import { MAX_CODE_BYTES } from '../wire/codeScorers.ts';
import { codeMessages, mendMessages } from './codePrompt.ts';
import {
  createDrafts,
  type DraftDeps,
  type DraftStore,
  type Drafts,
  type Examined,
  storable,
  writeByModel,
} from './modelDrafts.ts';
import { checkCode } from './validateCode.ts';

/** Code that a model writes, and what came of it. */
export interface CodeGeneration {
  id: string;
  /** False while the model is at work. */
  isDone: boolean;
  code: string | null;
  /** Why the code cannot be used, or why there is none. */
  problem: string | null;
  /** It began so long ago that its process must have ended. */
  isOver: boolean;
}

export type Generated = Pick<CodeGeneration, 'code' | 'problem'>;

export type CodeGenerationStore = DraftStore<Generated, CodeGeneration>;

export interface CodeDraftRequest {
  sentence: string;
  nodeType: string;
  /** Null: the default of the first integration. */
  model: string | null;
  userId: string;
  projectId: string | null;
}

const sample = { input: 'What is 2 + 2?', output: '2 + 2 is 4.' };

interface WriteDeps {
  models: Pick<ModelCaller, 'complete'>;
  sandbox: Pick<CodeSandbox, 'describe' | 'score'>;
}

/**
 * Has a model write code until it can be used: it must load, and give a value of a sample record.
 * @param model as `integration/model`
 * @throws the signal's reason; ServiceError when the service's own stores are at fault
 */
export async function draftCode(
  { models, sandbox }: WriteDeps,
  id: string,
  { sentence, nodeType, model, userId, projectId }: CodeDraftRequest & { model: string },
  signal: AbortSignal,
): Promise<Generated> {
  const asked = { jobId: `code-metric-generation/${id}`, model, userId, projectId, messages: codeMessages(sentence, nodeType) };
  const { draft: code, problem } = await writeByModel(models, asked, examine, mendMessages, signal);
  return { code, problem };

  async function examine(answer: string): Promise<Examined<string>> {
    const draft = codeIn(answer);
    return { draft, problem: draft === null ? 'the answer has no code that defines scorer_fn' : await problemOf(draft) };
  }

  async function problemOf(code: string): Promise<string | null> {
    if (Buffer.byteLength(code) > MAX_CODE_BYTES) return `the code has more than ${MAX_CODE_BYTES} bytes`;
    const source = { code, nodeTypes: [nodeType], required: [], sample };
    const checked = await checkCode(sandbox, `user/${userId}`, source, signal);
    return checked.result_type === 'invalid' ? checked.error_message : null;
  }
}

const FENCED = /```[^\n`]*\n([\s\S]*?)(?:```|$)/g;

/** The code in a model's answer: the fenced block that defines the metric, or the whole answer where it has no fences. */
export function codeIn(answer: string): string | null {
  const blocks = [...answer.matchAll(FENCED)].map(([, block = '']) => block);
  const code = (blocks.length > 0 ? blocks : [answer]).find((block) => /^def\s+scorer_fn\b/m.test(block));
  return code === undefined ? null : `${storable(code).trim()}\n`;
}

export type CodeGenerations = Drafts<CodeDraftRequest, CodeGeneration>;

export const createCodeGenerations = (deps: Omit<WriteDeps, 'models'> & DraftDeps<Generated, CodeGeneration>): CodeGenerations =>
  createDrafts(deps, {
    modelOf: ({ model }: CodeDraftRequest) => model,
    write: (id, request, model, signal) => draftCode(deps, id, { ...request, model }, signal),
    failed: (reason): Generated => ({ code: null, problem: `no code could be written: ${reason}` }),
    missing: (id) => `no generation of yours has the id ${id}`,
  });
