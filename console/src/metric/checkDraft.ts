import { jsonWithBigInts, parseWithBigInts } from '../../../shared/wire/longNumbers.ts';
import type { Metric, NewJudge } from '../data/metrics.ts';

export type Check = NonNullable<Metric['check']>;
export type CheckType = Check['type'];
type Mode = Extract<Check, { mode: unknown }>['mode'];
type SchemaOf = Extract<Check, { type: 'json_schema' }>['schema'];
type CallsOf = NonNullable<Extract<Check, { type: 'tool_calls' }>['calls']>;
type StepKind = NonNullable<Extract<Check, { type: 'trajectory' }>['kinds']>[number];

/** Says in words when a check of each type is true. */
export const checkWords: Record<CheckType, string> = {
  regex: 'the output matches a pattern',
  contains_all: 'the output has all of these texts',
  contains_any: 'the output has one of these texts',
  json_schema: 'the output is JSON that fits a schema',
  edit_distance: 'the output is spelled like the reference output',
  embedding_similarity: 'the output means what the reference output means',
  tool_calls: 'the expected tools were called',
  trajectory: 'the agent took the expected steps',
  latency: 'it took no longer than a limit',
  cost: 'it cost no more than a limit',
};

export const modeWords: Record<Mode, string> = {
  strict: 'these in this order, no others',
  in_order: 'these in this order, maybe others between',
  any_order: 'these in any order, no others',
  subset: 'these in any order, maybe others',
};

export const stepKinds = ['agent', 'tool', 'workflow', 'retriever', 'llm', 'control'] as const satisfies readonly StepKind[];

/** A check that is being written, with the fields of all types: kept in the tab until it is saved. */
export interface CheckDraft {
  name: string;
  description: string;
  direction: 'higher' | 'lower';
  kinds: string[];
  type: CheckType;
  pattern: string;
  ignoresCase: boolean;
  texts: string[];
  /** JSON. */
  schema: string;
  max: string;
  model: string;
  threshold: string;
  mode: Mode;
  /** The source of the expected calls or steps: the reference output of each row, or one list for all records. */
  expects: 'row' | 'same';
  /** JSON, a list. */
  calls: string;
  /** Names of spans. */
  steps: string[];
  stepKinds: StepKind[];
  maxMs: string;
  maxUsd: string;
}

export const emptyCheck: CheckDraft = {
  name: '',
  description: '',
  direction: 'higher',
  kinds: ['trace'],
  type: 'regex',
  pattern: '',
  ignoresCase: false,
  texts: [''],
  schema: '{"type": "object", "required": []}',
  max: '10',
  model: '',
  threshold: '0.75',
  mode: 'in_order',
  expects: 'row',
  calls: '[{"name": "search"}]',
  steps: [],
  stepKinds: ['agent', 'tool'],
  maxMs: '1000',
  maxUsd: '0.01',
};

/** The scorer that the draft makes. @throws SyntaxError for a field that is not the JSON that it must be; {@link jsonProblem} says which */
export const scorerOfCheck = (draft: CheckDraft): NewJudge => ({
  name: draft.name.trim(),
  description: draft.description.trim(),
  direction: draft.direction,
  scoreable_node_types: draft.kinds,
  check: checkOf(draft),
});

function checkOf({ type, ...draft }: CheckDraft): Check {
  const isSame = draft.expects === 'same';
  switch (type) {
    case 'regex':
      return { type, pattern: draft.pattern, ignore_case: draft.ignoresCase };
    case 'contains_all':
    case 'contains_any':
      return { type, texts: draft.texts, ignore_case: draft.ignoresCase };
    case 'json_schema':
      return { type, schema: parseWithBigInts(draft.schema) as SchemaOf };
    case 'edit_distance':
      return { type, max: Number(draft.max) };
    case 'embedding_similarity':
      return { type, model: draft.model.trim(), threshold: Number(draft.threshold) };
    case 'tool_calls':
      return { type, mode: draft.mode, ...(isSame ? { calls: parseWithBigInts(draft.calls) as CallsOf } : {}) };
    case 'trajectory':
      return { type, mode: draft.mode, kinds: draft.stepKinds, ...(isSame ? { steps: draft.steps } : {}) };
    case 'latency':
      return { type, max_ms: Number(draft.maxMs) };
    case 'cost':
      return { type, max_usd: Number(draft.maxUsd) };
    default:
      return type satisfies never;
  }
}

/** Says what the JSON of the draft must be, where it is something else. */
export function jsonProblem({ type, expects, schema, calls }: CheckDraft): string | undefined {
  if (type === 'json_schema') return isJson(schema, isObject) ? undefined : 'A schema is a JSON object.';
  if (type !== 'tool_calls' || expects === 'row') return undefined;
  return isJson(calls, Array.isArray) ? undefined : 'A JSON list of calls, such as [{"name": "search"}].';
}

/** True while there is nothing that could be saved. */
export const isBlankCheck = (draft: CheckDraft): boolean =>
  draft.kinds.length === 0 || jsonProblem(draft) !== undefined || (draft.type === 'trajectory' && draft.stepKinds.length === 0);

function isJson(text: string, isRight: (value: unknown) => boolean): boolean {
  try {
    return isRight(parseWithBigInts(text));
  } catch {
    return false;
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A check as it is, to be changed. */
export function draftOfCheck(metric: Metric, check: Check): CheckDraft {
  const common = {
    ...emptyCheck,
    name: metric.name,
    description: metric.description ?? '',
    direction: metric.direction ?? 'higher',
    kinds: [...(metric.scoreable_node_types ?? emptyCheck.kinds)],
    type: check.type,
  };
  switch (check.type) {
    case 'regex':
      return { ...common, pattern: check.pattern, ignoresCase: check.ignore_case ?? false };
    case 'contains_all':
    case 'contains_any':
      return { ...common, texts: [...check.texts], ignoresCase: check.ignore_case ?? false };
    case 'json_schema':
      return { ...common, schema: jsonWithBigInts(check.schema, undefined, 2) };
    case 'edit_distance':
      return { ...common, max: String(check.max) };
    case 'embedding_similarity':
      return { ...common, model: check.model, threshold: String(check.threshold ?? emptyCheck.threshold) };
    case 'tool_calls':
      return {
        ...{ ...common, mode: check.mode },
        ...(check.calls ? { expects: 'same', calls: jsonWithBigInts(check.calls, undefined, 2) } : {}),
      };
    case 'trajectory':
      return {
        ...{ ...common, mode: check.mode, stepKinds: [...(check.kinds ?? emptyCheck.stepKinds)] },
        ...(check.steps ? { expects: 'same', steps: [...check.steps] } : {}),
      };
    case 'latency':
      return { ...common, maxMs: String(check.max_ms) };
    case 'cost':
      return { ...common, maxUsd: String(check.max_usd) };
    default:
      return check satisfies never;
  }
}
