import { parsedOrNothing } from '../../json/parseJson.ts';
import { isBlank } from '../../wire/isBlank.ts';
import { isObject } from '../../wire/isObject.ts';
import type { ScoredRecord } from '../metric.ts';

/** A text that a judge is shown, under a name that its task may use. */
export interface Material {
  name: string;
  text: string;
  /** The part that is shown, where the text was too long to be shown whole. */
  cut?: string;
}

/** Characters of a text of the record's own. */
const MAX_OWN_TEXT = 100_000;
/** Members of a list (steps, turns, documents): an agent may take thousands of steps. The first and the last are shown. */
const MAX_MEMBERS = 200;
/** Characters of one text of a member, which may repeat a prompt, and of a list in all: what judges' models take in, with room for the question. */
const MAX_MEMBER_TEXT = 4_000;
const MAX_LIST = 200_000;
const MAX_NAME = 200;

/** The record's input: of a session the inputs of its traces, of a row without one that of its dataset row, or what its first step was given. Undefined where it is empty. */
export function inputOf(record: ScoredRecord): Material | undefined {
  if (record.traces) return turnsOf(record.traces, 'input');
  const { input, datasetInput, isRow, spans = [] } = record;
  if (!isBlank(input)) return ownText('input', input);
  if (!isRow) return undefined;
  const ofFirstStep = () => spans.find((span) => !isBlank(span.input))?.input;
  return ownText('input', isBlank(datasetInput) ? ofFirstStep() : datasetInput);
}

/** The record's output: of a session the outputs of its traces. Undefined where it is empty. */
export const outputOf = (record: ScoredRecord): Material | undefined =>
  record.traces ? turnsOf(record.traces, 'output') : ownText('output', record.output);

/** The reference answer of the record's row. Undefined where there is none. */
export const referenceOf = (record: ScoredRecord): Material | undefined => {
  const found = record.traces ? turnsOf(record.traces, 'datasetOutput') : ownText('reference answer', record.datasetOutput);
  return found && { ...found, name: 'reference answer' };
};

/** The input of the dataset row. */
export const datasetInputOf = (record: ScoredRecord): Material | undefined => {
  const found = record.traces ? turnsOf(record.traces, 'datasetInput') : ownText('dataset input', record.datasetInput);
  return found && { ...found, name: 'dataset input' };
};

/** Returns what was asked and answered, turn by turn: the traces of a session in order, or the one turn that another record is. */
export function transcriptOf(record: ScoredRecord): Material | undefined {
  const turns = (record.traces ?? [record]).map((turn, index) => (cut: Cut) => {
    const input = record.traces ? turn.input : (inputOf(record)?.text ?? null);
    const said = [
      ...(isBlank(input) ? [] : [`user: ${cut(input, turn.inputLength)}`]),
      ...(isBlank(turn.output) ? [] : [`assistant: ${cut(turn.output, turn.outputLength)}`]),
      ...(turn.errorMessage ? [`error: ${cut(turn.errorMessage)}`] : []),
    ];
    return said.length > 0 ? `Turn ${index + 1}\n${said.join('\n')}` : '';
  });
  return list('transcript', 'turns', turns);
}

/** A conversation in which the user speaks more than once: of a session its turns, of another record the messages of its input. Undefined where there is none. */
export function conversationOf(record: ScoredRecord): Material | undefined {
  if (record.traces) return record.traces.filter(({ input }) => !isBlank(input)).length > 1 ? transcriptOf(record) : undefined;
  const messages = isBlank(record.input) ? undefined : parsedOrNothing(record.input);
  const ofUser = Array.isArray(messages) ? messages.filter((one) => isObject(one) && 'role' in one && one.role === 'user') : [];
  return ofUser.length > 1 ? ownText('conversation', record.input) : undefined;
}

/** The steps below the record in order of their start, at any depth. @param kinds only those of these kinds, each with its whole input */
export function stepsOf(record: ScoredRecord, kinds?: readonly ScoredRecord['kind'][]): Material | undefined {
  const turns = record.traces?.map(({ spans = [] }) => spans) ?? [record.spans ?? []];
  const steps = turns.flatMap((spans, turn) => spans.map((span) => ({ span, turn: record.traces ? ` (turn ${turn + 1})` : '' })));
  const wanted = steps.filter(({ span }) => kinds === undefined || kinds.includes(span.kind));
  return list(
    'steps',
    'steps',
    wanted.map(
      ({ span, turn }, index) =>
        (cut: Cut) =>
          `${index + 1}. ${stepText(span, turn, kinds !== undefined, cut)}`,
    ),
  );
}

/** Documents, as many as are judged of one record and no longer than all of them may be together. */
export function documentMaterial(documents: readonly string[]): Material[] {
  const most = Math.floor(MAX_LIST / Math.max(1, documents.length));
  return documents.map((text, index) => {
    const name = `document ${index + 1}`;
    if (text.length <= most) return { name, text };
    return { name, text: `${text.slice(0, most).toWellFormed()}…`, cut: `the first ${most} of ${text.length} characters` };
  });
}

/** Returns what was retrieved below the record, or by it. */
export function contextOf({ kind, output, outputLength, spans = [] }: ScoredRecord): Material | undefined {
  const found = kind === 'retriever' ? [{ output, outputLength }] : spans.filter((span) => span.kind === 'retriever');
  const texts = found.filter((one) => !isBlank(one.output));
  return list(
    'context',
    'answers of retrievers',
    texts.map((one) => (cut: Cut) => cut(one.output as string, one.outputLength)),
    {
      between: '\n\n',
      maxText: MAX_LIST / 2,
    },
  );
}

/** The tools that the models of the record were offered, each once. */
export function toolsOf(record: ScoredRecord): Material | undefined {
  const offered = new Set([record, ...(record.spans ?? [])].flatMap(({ tools }) => (isBlank(tools) ? [] : tools)));
  const each = new Set([...offered].flatMap(membersOf));
  return list(
    'tools',
    'tools',
    [...each].map((text) => (cut: Cut) => cut(text)),
  );
}

/** The calls of tools that the record made: the tool spans below it (or it is one), or else what its models asked for. */
export function toolCallsOf(record: ScoredRecord): Material | undefined {
  const all = [record, ...(record.spans ?? [])];
  const made = all.filter(({ kind }) => kind === 'tool').map((span) => (cut: Cut) => stepText(span, '', true, cut));
  const asked = all.flatMap(({ kind, output }) => (kind === 'llm' && output ? callsIn(output) : []));
  const calls = made.length > 0 ? made : asked.map((text) => (cut: Cut) => cut(text));
  return list(
    'tool calls',
    'tool calls',
    calls.map((call, index) => (cut: Cut) => `${index + 1}. ${call(cut)}`),
  );
}

/** A text of the record's own, its middle left out where it is too long. Undefined where it is empty. */
export function ownText(name: string, text: string | null | undefined): Material | undefined {
  if (isBlank(text)) return undefined;
  if (text.length <= MAX_OWN_TEXT) return { name, text };
  const half = MAX_OWN_TEXT / 2;
  const [head, tail] = [text.slice(0, half).toWellFormed(), text.slice(-half).toWellFormed()];
  const left = text.length - MAX_OWN_TEXT;
  return {
    name,
    text: `${head}\n… (${left} characters left out) …\n${tail}`,
    cut: `the first and the last ${half} of ${text.length} characters`,
  };
}

/** The metadata that a score says what was cut in. */
export const cutMetadata = (material: readonly Material[]): { cut: Record<string, string> } | undefined => {
  const cuts = material.flatMap(({ name, cut }) => (cut === undefined ? [] : [[name, cut] as const]));
  return cuts.length > 0 ? { cut: Object.fromEntries(cuts) } : undefined;
};

/** One text of each turn, numbered where there are several. */
const turnsOf = (
  traces: readonly ScoredRecord[],
  part: 'input' | 'output' | 'datasetInput' | 'datasetOutput',
): Material | undefined => {
  const length = { input: 'inputLength', output: 'outputLength' } as const;
  const turns = traces.map((trace, index) => {
    const text = trace[part];
    const whole = part === 'input' || part === 'output' ? trace[length[part]] : undefined;
    return isBlank(text) ? undefined : (cut: Cut) => `Turn ${index + 1}: ${cut(text, whole)}`;
  });
  return list(
    part,
    'turns',
    turns.filter((turn) => turn !== undefined),
  );
};

/** Shortens a text. @param length of the whole one, where this is its beginning alone */
type Cut = (text: string, length?: number) => string;

/**
 * A list within bounds: of too many members the first and the last, and of each text the beginning, which is shorter where all together would be too
 * much. Undefined where nothing is left of it.
 */
function list(
  name: string,
  noun: string,
  members: readonly ((cut: Cut) => string)[],
  { between = '\n', maxText = MAX_MEMBER_TEXT }: { between?: string; maxText?: number } = {},
): Material | undefined {
  const left = Math.max(0, members.length - MAX_MEMBERS);
  const half = MAX_MEMBERS / 2;
  const shown = left > 0 ? [...members.slice(0, half), ...members.slice(-half)] : members;
  const written = (characters: number) => {
    const texts: number[] = [];
    const cuts: number[] = [];
    const shorten: Cut = (text, length = text.length) => {
      texts.push(text.length);
      if (length <= characters) return text;
      const beginning = text.slice(0, characters).toWellFormed();
      cuts.push(beginning.length);
      return `${beginning}… (${length} characters)`;
    };
    const lines = shown.map((member) => member(shorten));
    const given = left > 0 ? lines.toSpliced(half, 0, `(${left} more)`) : lines;
    return { text: given.filter((line) => line !== '').join(between), texts, cuts };
  };
  const first = written(maxText);
  const { text, cuts } = first.text.length <= MAX_LIST ? first : written(lengthWithin(first.texts, MAX_LIST));
  if (isBlank(text)) return undefined;
  const cut = [
    ...(left > 0 ? [`${MAX_MEMBERS} of ${members.length} ${noun}`] : []),
    ...(cuts.length > 0 ? [cutsText(cuts)] : []),
  ];
  return { name, text, ...(cut.length > 0 ? { cut: cut.join(', ') } : {}) };
}

/** The length that texts may have so that all of them come to no more than `most`: short ones leave their share to the others. */
function lengthWithin(lengths: readonly number[], most: number): number {
  let left = most;
  const shortFirst = lengths.toSorted((one, other) => one - other);
  for (const [index, length] of shortFirst.entries()) {
    const share = Math.floor(left / (lengths.length - index));
    if (length > share) return share;
    left -= length;
  }
  return most;
}

/** @param cuts characters that are shown of each text that was cut */
function cutsText(cuts: readonly number[]): string {
  const least = Math.min(...cuts);
  const orMore = cuts.some((characters) => characters > least) ? ' or more' : '';
  return `the first ${least}${orMore} characters of ${cuts.length === 1 ? 'a text' : `${cuts.length} texts`}`;
}

/** The input of a model's call repeats what came before it, so it is shown where the call itself is looked at. */
function stepText(span: ScoredRecord, turn: string, isWhole: boolean, cut: Cut): string {
  const { kind, name, input, output, errorMessage, parentName } = span;
  const said = [
    ...((kind === 'llm' && !isWhole) || isBlank(input) ? [] : [`input: ${cut(input, span.inputLength)}`]),
    ...(isBlank(output) ? [] : [`output: ${cut(output, span.outputLength)}`]),
    ...(errorMessage ? [`error: ${cut(errorMessage)}`] : []),
  ];
  const inside = parentName === undefined ? '' : ` (inside ${quoted(parentName)})`;
  return [`${kind} ${quoted(name)}${inside}${turn}`, ...said].join('\n   ');
}

const quoted = (name: string): string => JSON.stringify(name.slice(0, MAX_NAME));

const membersOf = (json: string): string[] => {
  const read = parsedOrNothing(json);
  return Array.isArray(read) ? read.map((one) => JSON.stringify(one)) : [json];
};

/** The calls of tools in a model's message. */
function callsIn(output: string): string[] {
  if (!output.includes('"tool_calls"')) return [];
  const message = parsedOrNothing(output) as { tool_calls?: unknown } | null | undefined;
  return Array.isArray(message?.tool_calls) ? message.tool_calls.map((call) => JSON.stringify(call)) : [];
}
