import { languageOf } from '../codeMetrics/codeLanguage.ts';
import { type CodeSandbox, OFF } from '../codeMetrics/codeSandbox.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import { MAX_CODE_BYTES, type ValidateRegisteredScorerResult } from '../wire/codeScorers.ts';
import { type RecordKind, recordKinds } from '../wire/recordKinds.ts';
import { type CodeScoreType, NodeType } from '../wire/scorers.ts';
import { fitted, typeOfValues } from './codeMetric.ts';
import { recordForCode } from './recordForCode.ts';
import { recordKind } from './resolveMetrics.ts';

/** A check of code, and what came of it. */
export interface CodeValidation {
  id: string;
  /** Null while it goes on. */
  result: ValidateRegisteredScorerResult | null;
  createdAt: Date;
  updatedAt: Date;
  /** It began so long ago that its process must have ended. */
  isOver: boolean;
}

export interface CodeValidationStore {
  begin(id: string, userId: string): Promise<void>;
  end(id: string, result: ValidateRegisteredScorerResult): Promise<void>;
  /** One that this user began. */
  find(id: string, userId: string): Promise<CodeValidation | undefined>;
}

export interface CodeToCheck {
  code: string;
  /** Kinds of records that the metric takes; empty: those that the code says, else model calls. */
  nodeTypes: readonly string[];
  /** Names of metrics whose values it gets. */
  required: readonly string[];
  /** A record that the code scores, of each kind; without one it is loaded alone. */
  sample: { input: string; output: string } | undefined;
  /** The type of its values, where the code does not say it; that of the values that it gives, or float, without it. */
  scoreType?: CodeScoreType | undefined;
}

type Result = ValidateRegisteredScorerResult['result'];

const invalid = (error_message: string): Result => ({ result_type: 'invalid', error_message });

/** Loads code and has it score a sample. @param owner whose interpreter it runs in */
export async function checkCode(
  sandbox: Pick<CodeSandbox, 'describe' | 'score'>,
  owner: string,
  { code, nodeTypes, required, sample, scoreType }: CodeToCheck,
  signal: AbortSignal,
): Promise<Result> {
  const named = nodeTypes.map(unknownKind).find((problem) => problem !== undefined);
  if (named !== undefined) return invalid(named);
  const described = await sandbox.describe(owner, code, signal);
  if ('error' in described) return invalid(described.error);
  const asked = [nodeTypes, described.nodeTypes ?? []].find((types) => types.length > 0) ?? ['llm'];
  const unknown = asked.map(unknownKind).find((problem) => problem !== undefined);
  if (unknown !== undefined) return invalid(unknown);
  const test_scores: Extract<Result, { result_type: 'valid' }>['test_scores'] = [];
  const types = asked.flatMap((type) => NodeType.safeParse(type).data ?? []);
  for (const node_type of sample ? types : []) {
    const outcome = await sandbox.score(owner, code, sampleOf(recordKind(node_type) as RecordKind, required, sample), signal);
    if ('error' in outcome) return invalid(`on the test record of the kind ${node_type}: ${outcome.error}`);
    test_scores.push({ node_type, score: 'value' in outcome ? outcome.value : null });
  }
  const values = test_scores.flatMap(({ score }) => score ?? []);
  const score_type = described.scoreType ?? scoreType ?? typeOfValues(values);
  for (const value of values) {
    const fit = fitted(value, score_type, languageOf(code));
    if ('error' in fit) return invalid(`on the test record: ${fit.error}`);
  }
  return {
    result_type: 'valid',
    score_type,
    scoreable_node_types: types,
    include_llm_credentials: false,
    chain_aggregation: null,
    test_scores,
  };
}

/** Why this names no kind of record, with the nearest ones; undefined where it names one. */
export function unknownKind(type: string): string | undefined {
  const kinds: readonly string[] = recordKinds;
  if (kinds.includes(recordKind(type))) return undefined;
  return `no kind of record is called ${JSON.stringify(type)}; nearest: ${closestNames(type, [...kinds]).join(', ')}`;
}

/** A record to try code on; the metrics that it requires have no values of it. */
const sampleOf = (kind: RecordKind, required: readonly string[], { input, output } = { input: '', output: '' }) =>
  recordForCode({
    requiredScores: Object.fromEntries(required.map((name) => [name, null])),
    ...{ kind, name: 'test', input, output, datasetInput: null, datasetOutput: null, metadata: {}, durationNs: null },
    ...{ inputTokens: null, outputTokens: null, totalTokens: null, errorMessage: null, model: null },
  });

/** @throws ServiceError `Forbidden` where the service runs no code of metrics */
export function mustBeOn({ isOn }: Pick<CodeSandbox, 'isOn'>): void {
  if (!isOn) throw new ServiceError('Forbidden', OFF);
}

/** @throws RequestInvalid for a file that is no text, or has too many bytes */
export async function codeOfFile(file: Blob): Promise<string> {
  const refuse = (msg: string) => new RequestInvalid([{ loc: ['body', 'file'], msg, type: 'code_file' }]);
  if (file.size > MAX_CODE_BYTES) throw refuse(`the code has ${file.size} bytes; at most ${MAX_CODE_BYTES} are taken`);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    if (!text.includes('\0')) return text;
  } catch {
    // Said below.
  }
  throw refuse('the file is no text in UTF-8');
}

export interface CodeValidations {
  /** Begins to check code. @returns the id under which what comes of it is found */
  begin(code: CodeToCheck, userId: string): Promise<string>;
  /** @throws ServiceError `NotFound` for one that this user did not begin */
  find(id: string, userId: string): Promise<CodeValidation>;
}

export function createCodeValidations(deps: {
  store: CodeValidationStore;
  sandbox: Pick<CodeSandbox, 'describe' | 'score'>;
  newId(): string;
  onError(err: unknown): void;
}): CodeValidations {
  const { store, sandbox, newId, onError } = deps;
  return {
    async begin(code, userId) {
      const id = newId();
      await store.begin(id, userId);
      const check = async () =>
        store.end(id, { result: await checkCode(sandbox, `user/${userId}`, code, new AbortController().signal) });
      check().catch(onError);
      return id;
    },
    async find(id, userId) {
      const found = await store.find(id, userId);
      if (!found) throw new ServiceError('NotFound', `no validation of yours has the id ${id}; they are kept for a day`);
      return found;
    },
  };
}
