import { isExact } from '../wire/exactNumber.ts';
import { Attributes, type AttributeTree, type AttributeValue, structureOf, textOf } from './attributes.ts';
import { documentsIn } from './documents.ts';
import { firstText, isTree } from './messageForms.ts';
import { answerIn, requestIn } from './messages.ts';
import { kindNamed, type OwnNames, ownNamesIn } from './ownNames.ts';
import type { OtelSpan } from './span.ts';
import { type SpanContent, type SpanRole, saysNothing } from './spanContent.ts';

const GENKIT_NAME = 'genkit:name';
/** The attribute in which Braintrust describes a span, its kind among it. */
const BRAINTRUST_KIND = 'braintrust.span_attributes';

/** Returns the role that the span gives itself in the words of the library that made it. */
export function ownRole({ attributes }: OtelSpan): SpanRole | undefined {
  const names = namesIn(attributes);
  const about = structureOf(attributes.peek(BRAINTRUST_KIND));
  const words = [...(names.kind ?? []).map((name) => attributes.peek(name)), isTree(about) ? about.type : undefined];
  for (const word of words) {
    const kind = typeof word === 'string' ? kindNamed(unquoted(word)) : undefined;
    if (kind === 'embedding') return { kind: 'workflow', callsModel: true };
    if (kind === 'step') return { kind: 'workflow', callsModel: false };
    if (kind !== undefined) return { kind, callsModel: kind === 'llm' };
  }
  return undefined;
}

const namesIn = (attributes: Attributes): OwnNames['by'] => attributes.fromNames(ownNamesIn).by;

/**
 * Reads the attributes of a library's own, found by the endings of their names.
 * @param known what the conventions say: an input or output beside theirs stays with the metadata
 */
export function readOwn({ attributes, resource, startNs }: OtelSpan, { kind }: SpanRole, known: SpanContent): SpanContent {
  const { by, metadata: parts } = attributes.fromNames(ownNamesIn);
  const shared = resource.fromNames(ownNamesIn).by;
  const metadata: [string, AttributeValue][] = [];
  const content: SpanContent = {
    sessionId: textIn(attributes, by.session) ?? textKept(resource, shared.session),
    tags: tagsIn(attributes, by.tags),
    datasetInput: textIn(attributes, by.datasetInput) ?? textKept(resource, shared.datasetInput),
    datasetOutput: textIn(attributes, by.datasetOutput) ?? textKept(resource, shared.datasetOutput),
    datasetMetadata: treeIn(attributes, by.datasetMetadata) ?? treeIn(resource, shared.datasetMetadata),
    metadata,
  };
  if (kind === 'llm') {
    content.model = textIn(attributes, by.model) ?? (attributes.has('genkit:input') ? attributes.text(GENKIT_NAME) : undefined);
    content.timeToFirstTokenNs = timeUntil(textIn(attributes, by.firstTokenTime), startNs);
    content.temperature = temperatureIn(attributes, by.parameters);
  }
  addMetadata(metadata, attributes, by.metadata ?? [], parts);
  const said = identitiesIn([...(known.metadata ?? []), ...metadata]);
  content.sessionId ??= known.sessionId ?? said?.session;
  const user = textKept(attributes, by.user) ?? said?.user;
  if (user !== undefined && !attributes.has('user.id')) metadata.push(['user.id', user]);
  if (saysNothing(known.input)) addInput(content, attributes, by.input ?? [], kind);
  else markRepeated(attributes, by.input, known.input);
  if (saysNothing(known.output)) addOutput(content, attributes, by.output ?? [], kind);
  else markRepeated(attributes, by.output, known.output);
  return content;
}

/** Metadata says what the same names of attributes say: LangGraph's `thread_id` and `user_id` are in what OpenInference calls `metadata`. */
function identitiesIn(
  metadata: readonly [string, AttributeValue][],
): { session: string | undefined; user: string | undefined } | undefined {
  if (metadata.length === 0) return undefined;
  const within = Attributes.of(metadata.filter(([name]) => !name.includes('.')));
  const { session, user } = namesIn(within);
  return { session: textKept(within, session), user: textKept(within, user) };
}

/** Libraries write the same text by two names: it is not kept twice. */
function markRepeated(attributes: Attributes, names: readonly string[] = [], said: unknown): void {
  for (const name of names) if (attributes.peek(name) === said) attributes.markRead(name);
}

/** Texts as these libraries write them: as they are, or as JSON. */
const unquoted = (text: string): string => {
  if (!/^\s*"/.test(text)) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
};

/** The first that holds a text; the others stay with the metadata. */
const textIn = (attributes: Attributes, names: readonly string[] = []): string | undefined =>
  first(names, (name) => textNamed(attributes, name));

function textNamed(attributes: Attributes, name: string): string | undefined {
  const text = textAt(attributes, name);
  if (text !== undefined) attributes.markRead(name);
  return text;
}

/** As `textIn`, but the metadata has it, too. */
const textKept = (attributes: Attributes, names: readonly string[] = []): string | undefined =>
  first(names, (name) => textAt(attributes, name));

function first<T>(names: readonly string[], read: (name: string) => T | undefined): T | undefined {
  for (const name of names) {
    const value = read(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** A number or a truth is a text of an id, but no input; `null` and an empty text are none. */
function textAt(attributes: Attributes, name: string): string | undefined {
  const value = attributes.peek(name);
  if (value === undefined || value === null) return undefined;
  const text = unquoted(textOf(value));
  return text.trim() === '' || text === 'null' ? undefined : text;
}

const contentAt = (attributes: Attributes, name: string): string | undefined =>
  typeof attributes.peek(name) === 'number' || typeof attributes.peek(name) === 'boolean' ? undefined : textAt(attributes, name);

function treeIn(attributes: Attributes, names: readonly string[] = []): AttributeTree | undefined {
  return attributes.tree(...names);
}

/** A list of tags, its JSON, or what LangSmith makes of it: texts with commas between them. */
function tagsIn(attributes: Attributes, names: readonly string[] = []): string[] | undefined {
  for (const name of names) {
    const value = attributes.peek(name);
    const tags = structureOf(value) ? attributes.texts(name) : typeof value === 'string' ? unquoted(value).split(/,\s*/) : [];
    const said = tags.filter((tag) => tag !== '');
    if (said.length === 0) continue;
    attributes.markRead(name);
    return said;
  }
  return undefined;
}

/** Out of the parameters of a call, which stay with the metadata where there are others. */
export function temperatureIn(attributes: Attributes, names: readonly string[] = []): number | undefined {
  for (const name of names) {
    const parameters = structureOf(attributes.peek(name));
    const temperature = isTree(parameters) ? parameters.temperature : undefined;
    if (typeof temperature !== 'number' && !isExact(temperature)) continue;
    if (Object.keys(parameters as object).length === 1) attributes.markRead(name);
    return Number(temperature);
  }
  return undefined;
}

/** Nanoseconds until a time of ISO 8601, which is no earlier than the start. */
function timeUntil(time: string | undefined, startNs: bigint): number | undefined {
  const ms = time === undefined ? Number.NaN : Date.parse(time);
  if (Number.isNaN(ms) || startNs === 0n) return undefined;
  const ns = Number(BigInt(ms) * 1_000_000n - startNs);
  return ns >= 0 ? ns : undefined;
}

/** Values of metadata by their own names, beside those that they were sent by: `langfuse.trace.metadata.team` is also `team`. */
function addMetadata(
  to: [string, AttributeValue][],
  attributes: Attributes,
  names: readonly string[],
  parts: OwnNames['metadata'],
): void {
  const taken = new Set<string>();
  const add = (name: string, value: AttributeValue): boolean => {
    if (taken.has(name) || attributes.has(name)) return false;
    taken.add(name);
    to.push([name, value]);
    return true;
  };
  for (const [name, short] of parts) {
    const value = attributes.peek(name);
    if (value !== undefined) add(short, value);
  }
  for (const name of names) {
    const tree = structureOf(attributes.peek(name));
    if (!isTree(tree)) continue;
    if (Object.entries(tree).filter(([key, value]) => !add(key, value)).length === 0) attributes.markRead(name);
  }
}

function addInput(to: SpanContent, attributes: Attributes, names: readonly string[], kind: SpanRole['kind']): void {
  for (const name of names) {
    const text = contentAt(attributes, name);
    if (text === undefined || isOff(text, kind)) continue;
    markRepeated(attributes, names, attributes.peek(name));
    const request = kind === 'tool' || kind === 'retriever' ? undefined : requestIn(text);
    to.input = request?.messages ?? text;
    keepBeside(to, name, request?.beside);
    return;
  }
}

function addOutput(to: SpanContent, attributes: Attributes, names: readonly string[], kind: SpanRole['kind']): void {
  for (const name of names) {
    const text = contentAt(attributes, name);
    if (text === undefined || isOff(text, kind)) continue;
    markRepeated(attributes, names, attributes.peek(name));
    const answer = kind === 'retriever' ? undefined : answerIn(text, kind === 'llm' ? 'choices' : 'conversation');
    if (answer && !documentsIn(text)) Object.assign(to, answer);
    else to.output = kind === 'tool' ? text : (onlyText(text) ?? text);
    return;
  }
}

/** The text that an agent development kit writes in place of a content that it must not record. */
const isOff = (text: string, kind: SpanRole['kind']): boolean =>
  (text === '{}' && kind !== 'tool') || text === 'N/A' || text === '<not serializable>';

function keepBeside(to: SpanContent, name: string, beside: readonly [string, AttributeValue][] = []): void {
  for (const [key, value] of beside) to.metadata?.push([`${name}.${key}`, value]);
}

/** `{"text": "…"}`, as Mastra writes an answer that is nothing else. */
function onlyText(text: string): string | undefined {
  const value = structureOf(text);
  return isTree(value) && Object.keys(value).length === 1 ? firstText(value.text) : undefined;
}
