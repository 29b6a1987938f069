import { isDeepStrictEqual } from 'node:util';
import { parsedOrNothing } from '../../json/parseJson.ts';
import type { Score, ScoredRecord } from '../../metrics/metric.ts';
import { NO_REFERENCE } from '../../metrics/reasons.ts';
import type { Check } from '../../wire/checks.ts';
import { isBlank } from '../../wire/isBlank.ts';
import { isObject } from '../../wire/isObject.ts';

export interface Call {
  name: string;
  /** Absent of an expected call whose arguments may be any. */
  arguments?: unknown;
}

type Mode = Extract<Check, { type: 'tool_calls' }>['mode'];

/** Compares the calls of tools that a record made with those that the check, or else the row's reference output, expects. */
export const toolCallsCheck =
  ({ mode, calls }: Extract<Check, { type: 'tool_calls' }>) =>
  (record: ScoredRecord): Score => {
    if (calls === undefined && isBlank(record.datasetOutput)) return { notApplicable: NO_REFERENCE };
    const expected = (calls as Call[] | undefined) ?? callsIn(parsedOrNothing(record.datasetOutput ?? ''));
    if (expected === undefined) return { notApplicable: 'the reference output is no JSON list of calls, each with a name' };
    return compared(mode, expected, callsOf(record));
  };

/** Compares what a record did with what was expected of it, and explains a difference. */
export function compared(mode: Mode, expected: readonly Call[], made: readonly Call[]): Score {
  if (mode === 'strict' || mode === 'in_order') {
    const isSame = mode === 'in_order' || made.length === expected.length;
    if (isSame && firstOutOfOrder(expected, made) === undefined) return { value: true };
    return { value: false, explanation: `expected ${listed(expected)}; made ${listed(made)}` };
  }
  const { missing, others } = matched(expected, made);
  const problems = [
    ...(missing.length > 0 ? [`missing: ${listed(missing)}`] : []),
    ...(others.length > 0 && mode === 'any_order' ? [`not expected: ${listed(others)}`] : []),
  ];
  return problems.length === 0 ? { value: true } : { value: false, explanation: problems.join('; ') };
}

/** The first expected call that none behind those of the calls before it fits. */
function firstOutOfOrder(expected: readonly Call[], made: readonly Call[]): Call | undefined {
  let next = 0;
  return expected.find((call) => {
    const at = made.findIndex((one, index) => index >= next && fits(call, one));
    next = at + 1;
    return at < 0;
  });
}

const fits = (expected: Call, made: Call): boolean =>
  expected.name === made.name && (expected.arguments === undefined || isDeepStrictEqual(expected.arguments, made.arguments));

/** Each expected call takes one that was made. Those with arguments choose first, since the others take any. */
function matched(expected: readonly Call[], made: readonly Call[]): { missing: Call[]; others: Call[] } {
  const others = [...made];
  const missing = expected
    .toSorted((one, other) => Number(one.arguments === undefined) - Number(other.arguments === undefined))
    .filter((call) => {
      const at = others.findIndex((one) => fits(call, one));
      if (at >= 0) others.splice(at, 1);
      return at < 0;
    });
  return { missing, others };
}

/** The tool spans below a record in order of their start, or else what its models asked for. */
function callsOf(record: ScoredRecord): Call[] {
  const all = [record, ...(record.spans ?? [])];
  const tools = all.filter(({ kind }) => kind === 'tool');
  if (tools.length > 0) return tools.map(({ name, input }) => ({ name, arguments: argumentsOf(input) }));
  const asked = all.filter(({ kind }, at) => kind === 'llm' || at === 0).map(callsAskedFor);
  // The output of a record is that of its last model call once more.
  const [own = [], ...ofSpans] = asked;
  const below = ofSpans.flat();
  return below.length > 0 ? below : own;
}

/** The calls of tools that the output of a model lists. */
export function callsAskedFor({ output }: ScoredRecord): Call[] {
  const message = parsedOrNothing(output ?? '');
  return (isObject(message) ? callsIn(message) : undefined) ?? [];
}

/** Calls as endpoints and agents write them: a list, or a message with `tool_calls`. Undefined of anything else. */
function callsIn(given: unknown): Call[] | undefined {
  const list = isObject(given) ? given.tool_calls : given;
  if (!Array.isArray(list)) return undefined;
  const calls = list.map((one): Call | undefined => {
    const call = isObject(one) && isObject(one.function) ? one.function : one;
    if (!isObject(call) || typeof call.name !== 'string') return undefined;
    const given = call.arguments ?? call.args ?? call.input;
    return given === undefined ? { name: call.name } : { name: call.name, arguments: argumentsOf(given) };
  });
  return calls.every((call) => call !== undefined) ? calls : undefined;
}

const argumentsOf = (given: unknown): unknown =>
  typeof given === 'string' ? (parsedOrNothing(given) ?? given) : given === null ? {} : given;

const MAX_LISTED = 20;
const listed = (calls: readonly Call[]): string =>
  calls.length === 0
    ? 'none'
    : calls
        .slice(0, MAX_LISTED)
        .map(({ name }) => name)
        .join(', ') + (calls.length > MAX_LISTED ? ' …' : '');
