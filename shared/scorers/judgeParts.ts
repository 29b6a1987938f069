import { closestNames } from '../identifiers/closestNames.ts';
import { parseAsWritten } from '../json/parseJson.ts';
import {
  contextOf,
  datasetInputOf,
  inputOf,
  type Material,
  outputOf,
  ownText,
  referenceOf,
  stepsOf,
  toolCallsOf,
  toolsOf,
  transcriptOf,
} from '../metrics/judging/material.ts';
import type { ScoredRecord } from '../metrics/metric.ts';
import { NO_REFERENCE, NOTHING_RETRIEVED } from '../metrics/reasons.ts';
import { isBlank } from '../wire/isBlank.ts';
import type { JudgePlaceholder } from '../wire/judgePlaceholders.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { MetricNeed } from '../wire/scorers.ts';
import type { JudgeDefinition } from './scorer.ts';

/** A part of a record that a judge is shown. */
export interface JudgePart {
  /** Name of the material: what a prompt that asks for the part says in its place. */
  name: string;
  /** Undefined of a record that lacks the part. */
  of(record: ScoredRecord): Material | undefined;
  /** Why there is no score of such a record. */
  lacking: string;
  /** The thing that a record must have for the part; undefined where nearly every record has it. */
  need?: MetricNeed;
  /** True when it is made of the spans below the record. */
  readsSpans?: true;
  /** True when it is made of columns of the dataset row. */
  readsRow?: true;
}

const input: JudgePart = { name: 'input', of: inputOf, lacking: 'the record has no input' };
const output: JudgePart = { name: 'output', of: outputOf, lacking: 'the record has no output' };
export const referencePart: JudgePart = {
  name: 'reference answer',
  of: referenceOf,
  need: 'reference_output',
  lacking: NO_REFERENCE,
};
/** The documents that were retrieved. */
export const contextPart: JudgePart = {
  name: 'context',
  of: contextOf,
  need: 'context',
  lacking: NOTHING_RETRIEVED,
  readsSpans: true,
};
const tools: JudgePart = { name: 'tools', of: toolsOf, need: 'tools', lacking: 'no model was offered tools', readsSpans: true };
const toolCalls: JudgePart = {
  name: 'tool calls',
  of: toolCallsOf,
  need: 'tool_calls',
  lacking: 'no tool was called',
  readsSpans: true,
};
const steps: JudgePart = {
  name: 'steps',
  of: stepsOf,
  need: 'steps',
  lacking: 'the record has no span below it',
  readsSpans: true,
};
const transcript: JudgePart = { name: 'transcript', of: transcriptOf, lacking: 'the record has neither input nor output' };
const datasetInput: JudgePart = {
  name: 'dataset input',
  of: datasetInputOf,
  need: 'dataset_row',
  lacking: 'the row has no input',
};
const metadata: JudgePart = {
  name: 'metadata',
  of: (record) => ownText('metadata', mapText(metadataOf(record))),
  lacking: 'the record has no metadata',
  need: 'metadata',
};
const datasetMetadata: JudgePart = {
  name: 'dataset metadata',
  of: (record) => ownText('dataset metadata', mapText(record.datasetMetadata ?? {})),
  lacking: 'the row has no metadata',
  need: 'dataset_row',
};
const dataset: JudgePart = {
  name: 'dataset row',
  of: ({ rowValues }) => ownText('dataset row', mapText(rowValues ?? {})),
  lacking: 'the record is of no dataset row',
  need: 'dataset_row',
  readsRow: true,
};

/** The values of the metrics that the judge requires, by the names that it has for them. */
const requiredScores: JudgePart = {
  name: 'required scores',
  of: (record) => ownText('required scores', mapText(record.requiredScores ?? {})),
  lacking: 'the judge requires no other metric',
};

/** The part of a record that each placeholder of a judge's prompt is filled in with. */
const parts: ReadonlyMap<string, JudgePart> = new Map(
  Object.entries({
    input,
    query: input,
    output,
    response: output,
    expected: referencePart,
    reference: referencePart,
    ground_truth: referencePart,
    dataset_output: referencePart,
    dataset,
    dataset_input: datasetInput,
    dataset_metadata: datasetMetadata,
    metadata,
    context: contextPart,
    documents: contextPart,
    tools,
    tool_calls: toolCalls,
    spans: steps,
    steps,
    transcript,
    required_scores: requiredScores,
  } satisfies Record<JudgePlaceholder | 'required_scores', JudgePart>),
);

/** The part that a placeholder names: `{{input}}`, or a member as in `{{metadata.plan}}` and `{{input.question}}`. Undefined for an unknown name. */
export function partNamed(placeholder: string): JudgePart | undefined {
  const dot = placeholder.indexOf('.');
  const part = parts.get((dot === -1 ? placeholder : placeholder.slice(0, dot)).toLowerCase());
  if (dot === -1 || !part) return part;
  const member = placeholder.slice(dot + 1);
  const read = membersOf.get(part);
  if (!read || member === '') return undefined;
  const name = `${part.name}: ${member}`;
  return {
    ...part,
    ...((part === input || part === datasetInput) && { readsRow: true as const }),
    name,
    of: (record) => ownText(name, read(record, member)),
    lacking:
      part === requiredScores
        ? `the metric ${JSON.stringify(member)}, which the prompt asks for, does not apply to the record`
        : `the ${part.name} has no ${JSON.stringify(member)}`,
  };
}

/** The metric that `{{required_scores.polite}}` names; empty of `{{required_scores}}`, undefined of other placeholders. */
export const requiredNamed = (placeholder: string): string | undefined =>
  /^required_scores(?:\.(.*))?$/is.exec(placeholder)?.slice(1).join('');

/** The names of parts that are most like an unknown one, its path left as it is where the part has members. */
export function closestParts(placeholder: string): string[] {
  const dot = placeholder.indexOf('.');
  if (dot === -1) return closestNames(placeholder, [...parts.keys()]);
  const withMembers = [...parts].flatMap(([name, part]) => (membersOf.has(part) ? [name] : []));
  return closestNames(placeholder.slice(0, dot), withMembers).map((name) => `${name}${placeholder.slice(dot)}`);
}

type ReadMember = (record: ScoredRecord, member: string) => string | undefined;

/** @param whole gives the text without what a judge is not shown of it */
const memberOfText =
  (part: JudgePart, whole: (record: ScoredRecord) => string | null): ReadMember =>
  (record, member) => {
    const text = whole(record);
    return valueAt(isBlank(text) ? part.of(record)?.text : text, member);
  };

/** A row whose only column is its input has that as plain text: the column is found by its name all the same. */
const orColumn =
  (read: ReadMember): ReadMember =>
  (record, member) =>
    read(record, member) ?? memberOfMap(record.rowValues ?? {}, member);

const membersOf: ReadonlyMap<JudgePart, ReadMember> = new Map([
  [input, orColumn(memberOfText(input, (record) => record.input))],
  [output, memberOfText(output, (record) => record.output)],
  [datasetInput, orColumn(memberOfText(datasetInput, (record) => record.datasetInput))],
  [referencePart, memberOfText(referencePart, (record) => record.datasetOutput)],
  [metadata, (record, key) => memberOfMap(metadataOf(record), key)],
  [dataset, ({ rowValues = {} }, column) => memberOfMap(rowValues, column)],
  [datasetMetadata, (record, key) => memberOfMap(record.datasetMetadata ?? {}, key)],
  [requiredScores, (record, metric) => memberOfMap(record.requiredScores ?? {}, metric)],
]);

/** A span's own, and that of its trace. */
const metadataOf = ({ metadata, traceMetadata }: ScoredRecord): Record<string, unknown> => ({ ...traceMetadata, ...metadata });

const mapText = (map: Readonly<Record<string, unknown>>): string | undefined =>
  Object.keys(map).length > 0 ? JSON.stringify(map, null, 1) : undefined;

const memberOfMap = (map: Readonly<Record<string, unknown>>, key: string): string | undefined =>
  Object.hasOwn(map, key) ? asText(map[key]) : undefined;

/** The value at a path such as `a.0.b` in a JSON text, its numbers as they are written there: `1.50`, and ids that no double holds. */
function valueAt(json: string | undefined, path: string): string | undefined {
  if (json === undefined) return undefined;
  let value: unknown;
  try {
    value = parseAsWritten(json);
  } catch {
    return undefined;
  }
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return asText(value);
}

const asText = (value: unknown): string | undefined =>
  value === null || value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value);

type InputType = NonNullable<JudgeDefinition['inputType']>;

/** The parts of a record that a judge sees without asking for them. `steps`: all of them, or those of one kind. */
interface View {
  input?: true;
  output?: true;
  steps?: 'all' | RecordKind;
}

const both: View = { input: true, output: true };
const views: Record<InputType, View> = {
  basic: both,
  trace_io_only: both,
  sessions_trace_io_only: both,
  trace_input_only: { input: true },
  trace_output_only: { output: true },
  trace_normalized: { ...both, steps: 'all' },
  sessions_normalized: { ...both, steps: 'all' },
  llm_spans: { ...both, steps: 'llm' },
  retriever_spans: { ...both, steps: 'retriever' },
  tool_spans: { ...both, steps: 'tool' },
  agent_spans: { ...both, steps: 'agent' },
  workflow_spans: { ...both, steps: 'workflow' },
};
const unstated: View = { ...both, steps: 'all' };

/** Kinds that have spans below them. */
const withSpans: readonly string[] = ['trace', 'session', 'agent', 'workflow'];

/** The steps that a judge of records of this kind is shown. Of an agent or workflow among spans of its kind: those below it. */
function stepsShown({ steps }: View, kind: string): View['steps'] {
  if (steps === kind) return withSpans.includes(kind) ? 'all' : kind === 'retriever' ? steps : undefined;
  return steps;
}

/** Returns true where a judge of these kinds sees spans below its records. */
export const isShownSpans = (inputType: InputType | null | undefined, kinds: readonly string[]): boolean =>
  kinds.some((kind) => withSpans.includes(kind) && stepsShown(viewOf(inputType), kind) !== undefined);

const viewOf = (inputType: InputType | null | undefined): View => (inputType ? views[inputType] : unstated);

/**
 * Collects the parts of a record that a judge sees: those of its input type, those that its prompt asks for, and the values of the metrics that it
 * requires.
 * @returns why the record cannot be judged, where it lacks one of those parts or all it has is empty
 */
export function judgeMaterial(
  record: ScoredRecord,
  inputType: InputType | null | undefined,
  asked: readonly JudgePart[],
): Material[] | { lacking: string } {
  const given: Material[] = [];
  for (const part of asked) {
    const material = part.of(record);
    if (!material) return { lacking: part.lacking };
    given.push(material);
  }
  const view = viewOf(inputType);
  const shown = new Map<string, Material>();
  const add = (material: Material | undefined) => {
    if (material && !shown.has(material.name)) shown.set(material.name, material);
  };
  if (record.traces && view.input && view.output) add(transcriptOf(record));
  else {
    if (view.input) add(inputOf(record));
    if (view.output && !(record.kind === 'retriever' && view.steps === 'retriever')) add(outputOf(record));
  }
  const kind = stepsShown(view, record.kind);
  if (kind === 'retriever') add(contextOf(record));
  else if (kind === 'all') {
    if (!repeatsOutput(record, inputType)) add(stepsOf(record));
  } else if (kind) add(stepsOf(record, [kind]));
  if (kind && kind !== 'all' && !shown.has('steps') && !shown.has('context'))
    return { lacking: `the record has no ${kind} span below it` };
  for (const material of given) add(material);
  if (shown.size === 0) return { lacking: 'the record has neither input nor output' };
  add(requiredScores.of(record));
  return [...shown.values()];
}

/** True of a record whose only step is the model's call that gave its output. */
function repeatsOutput({ output, spans = [] }: ScoredRecord, inputType: InputType | null | undefined): boolean {
  const [only] = spans;
  return !inputType && spans.length === 1 && only?.kind === 'llm' && only.output === output && !only.errorMessage;
}
