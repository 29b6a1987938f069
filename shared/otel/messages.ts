import { isExact } from '../wire/exactNumber.ts';
import { messageRole } from '../wire/messageRoles.ts';
import type { LoggedMessage } from '../wire/recordParts.ts';
import { type AttributeTree, type AttributeValue, parseJson, textOf } from './attributes.ts';
import { append, type Contents, contentsOf, isItem, type ToolCall } from './messageContents.ts';
import { answerWithin, finishReasonOf, firstText, isNothing, isTree, plainMessage, requestWithin } from './messageForms.ts';
import type { Event, SaidMessage } from './spanContent.ts';

/** The role of the interface that a name means; one that is not known stays as it is, and no name is `byDefault`. */
export const roleOf = (name: AttributeValue | undefined, byDefault: string): string =>
  messageRole(name) ?? (typeof name === 'string' && name !== '' ? name : byDefault);

/** Fields of a message that are read, or say nothing by themselves. */
const readFields: ReadonlySet<string> = new Set([
  ...[
    'role',
    'type',
    'content',
    'parts',
    'tool_calls',
    'function_call',
    'tool_call_id',
    'refusal',
    'finish_reason',
    'stop_reason',
  ],
  ...['reasoning_content', 'reasoning', 'thinking', 'message', 'id', 'index', 'status'],
]);

const NO_OTHERS: [string, AttributeValue][] = [];

/** Returns what else a message says, hardly ever anything. Among the attributes of an event, names with a dot are not of its message. */
function othersIn(message: AttributeTree): [string, AttributeValue][] {
  if (isItem(message)) return NO_OTHERS;
  let others = NO_OTHERS;
  for (const name in message) {
    if (readFields.has(name) || name.includes('.') || isNothing(message[name])) continue;
    if (others === NO_OTHERS) others = [];
    others.push([name, message[name] as AttributeValue]);
  }
  return others;
}

/**
 * Messages in any of the usual forms: with `parts` (OpenTelemetry), with `content` as text or list of blocks and `tool_calls` (OpenAI, Anthropic),
 * or plain text. A message that carries results of several tools becomes one message for each.
 */
export function messagesOf(value: AttributeValue | undefined, role: string): SaidMessage[] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return messagesOfText(value, role);
  if (Array.isArray(value)) return value.flatMap((one) => (isOdd(one) ? [oddMessage(one, role)] : messagesOf(one, role)));
  if (!isTree(value)) return [{ role, content: String(value) }];
  const request = requestWithin(value, isMessage);
  if (request) return messagesOf(request.items, role);
  return messagesIn(plainMessage(value), role);
}

function messagesIn(value: AttributeTree, role: string): SaidMessage[] {
  const own = roleOf(value.role, isOfModel(value) ? 'assistant' : role);
  const contents = contentsOf(value);
  const texts = [...contents.reasoning, ...contents.texts];
  const answers = contents.responses.map(({ text, ...said }): SaidMessage => message('tool', [text], [], said));
  const [first, ...more] = answers;
  if (first && texts.length === 0 && contents.toolCalls.length === 0) return [withOthers(first, othersIn(value)), ...more];
  if (isItem(value) && texts.length === 0 && contents.toolCalls.length === 0) return answers; // reasoning that is not shown
  const id = firstText(value.tool_call_id, own === 'tool' ? value.id : undefined);
  return [...answers, message(own, texts, contents.toolCalls, { id, others: othersIn(value) })];
}

/** A structure in a list of messages that is none. */
const isOdd = (value: AttributeValue): value is AttributeTree =>
  isTree(value) && !requestWithin(value, isMessage) && !isItem(value) && !hasContents(plainMessage(value));

/** It is kept as JSON. A role alone is a message of nothing. */
function oddMessage(value: AttributeTree, byDefault: string): SaidMessage {
  const isRoleAlone = Object.keys(value).every((name) => name === 'role');
  return { role: roleOf(value.role, byDefault), content: isRoleAlone ? '' : JSON.stringify(value) };
}

const messagesOfText = (text: string, role: string): SaidMessage[] =>
  requestIn(text, role)?.messages ?? [{ role, content: text }];

/** The messages in the JSON text of some, or of a request, and what that says beside them; undefined for any other text. */
export function requestIn(
  text: string,
  role = 'user',
): { messages: SaidMessage[]; beside: [string, AttributeValue][] } | undefined {
  const json = parseJson(text);
  if (Array.isArray(json)) return json.some(isMessage) ? { messages: messagesOf(json, role), beside: [] } : undefined;
  const request = isTree(json) ? requestWithin(json, isMessage) : undefined;
  if (request) return { messages: messagesOf(request.items, role), beside: request.beside };
  return isMessage(json) ? { messages: messagesOf(json, role), beside: [] } : undefined;
}

/** As `answerOf`, of the JSON text of an answer; undefined for any other text. */
export function answerIn(text: string, form: AnswerForm): ReturnType<typeof answerOf> | undefined {
  const json = parseJson(text);
  return isAnswer(json) ? answerOf(json, form) : undefined;
}

function isMessage(given: AttributeValue | undefined): boolean {
  if (!isTree(given)) return false;
  const value = plainMessage(given);
  return isItem(value) || Array.isArray(value.parts) || (typeof value.role === 'string' && hasContents(value));
}

/** Returns whether a structure has anything that the contents of a message are read from. */
export const hasContents = (value: AttributeTree): boolean => placesOfContents.some((name) => name in value);
const placesOfContents = ['content', 'parts', 'tool_calls', 'function_call', 'refusal', 'audio'];

const isOfModel = ({ type }: AttributeTree): boolean => type === 'function_call' || type === 'reasoning';

/** Returns whether a structure is an answer, or several: an application that asks for JSON gets others, which are texts. */
function isAnswer(value: AttributeValue | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(isAnswer);
  if (!isTree(value)) return false;
  return isMessage(value) || Array.isArray(value.choices) || (answerWithin(value, isMessage)?.items.every(isAnswer) ?? false);
}

/** One of the messages that a model answered with. */
interface Answer extends Contents {
  role: string;
  isReasoning: boolean;
  /** The id of the call that a tool answered. */
  id?: string | undefined;
  finishReason: string | undefined;
  /** Its content as it was written, where that is no text. */
  structure: AttributeValue | undefined;
  others: [string, AttributeValue][];
}

export type AnswerForm = 'choices' | 'parts' | 'conversation';

/**
 * The answer of a model: the first of its choices. Messages of several speakers are a conversation, whose answer is the last that the model gave.
 * Reasoning and all other messages become events.
 * @param value a text may be the JSON of messages or choices
 * @param form `parts`: the messages are one answer in pieces, as long as no two of them have a text; `conversation`: they follow each other
 */
export function answerOf(
  value: AttributeValue | undefined,
  form: AnswerForm = 'choices',
): { output?: SaidMessage; answer?: AttributeValue; events?: Event[]; finishReason?: string } {
  const events: Event[] = [];
  let first: Answer | undefined;
  const json = typeof value === 'string' ? parseJson(value) : undefined;
  const given = isAnswer(json) ? json : value;
  const inParts = form === 'parts' || (Array.isArray(given) && given.some((one) => isTree(one) && isItem(one)));
  const answers = answersIn(given);
  const last = form === 'conversation' || isConversation(answers) ? lastOf(answers) : undefined;
  for (const answer of answers) {
    const { texts, reasoning, toolCalls } = answer;
    for (const content of answer.isReasoning ? [...reasoning, ...texts] : reasoning) events.push({ type: 'reasoning', content });
    if (answer.isReasoning) continue;
    if (last && answer !== last) events.push(eventOf(answer));
    else if (!first) first = answer;
    else if (inParts && first.role === answer.role && (first.texts.length === 0 || texts.length === 0)) {
      append(first.texts, texts);
      append(first.toolCalls, toolCalls);
      first.others = [...first.others, ...answer.others];
      first.finishReason ??= answer.finishReason;
    } else events.push(eventOf(answer));
  }
  return {
    ...(first && { output: message(first.role, first.texts, first.toolCalls, first) }),
    ...(first?.structure === undefined ? {} : { answer: first.structure }),
    ...(events.length > 0 ? { events } : {}),
    ...(first?.finishReason === undefined ? {} : { finishReason: first.finishReason }),
  };
}

const isOfAssistant = ({ role, isReasoning }: Answer): boolean => role === 'assistant' && !isReasoning;

/** Choices are all the model's own. */
const isConversation = (answers: readonly Answer[]): boolean =>
  answers.some(isOfAssistant) && answers.some(({ role, isReasoning }) => !isReasoning && role !== 'assistant');

/** The last that the model said, or else called; of a conversation without it, what was said last. */
const lastOf = (answers: readonly Answer[]): Answer | undefined =>
  answers.findLast((one) => isOfAssistant(one) && one.texts.some((text) => text !== '')) ??
  answers.findLast(isOfAssistant) ??
  answers.findLast(({ isReasoning }) => !isReasoning);

const reasoningRoles: ReadonlySet<unknown> = new Set(['thinking', 'reasoning']);

/** Messages, also those that are each wrapped in what a provider says of a choice. */
function answersIn(value: AttributeValue | undefined): Answer[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(answersIn);
  if (!isTree(value)) return [{ ...nothing(), texts: [textOf(value)] }];
  const within = answerWithin(value, isMessage);
  if (!within) return answersOf(plainMessage(value));
  const answers = within.items.flatMap(answersIn);
  const of = answers.findLast(isOfAssistant) ?? answers.at(-1);
  if (of) {
    of.finishReason ??= within.finishReason;
    of.others = [...of.others, ...within.beside];
  }
  return answers;
}

const nothing = (): Answer => ({
  ...{ texts: [], reasoning: [], toolCalls: [], responses: [], role: 'assistant', isReasoning: false },
  ...{ finishReason: undefined, structure: undefined, others: NO_OTHERS },
});

/** A message, and what tools answered in it where it says more than that. */
function answersOf(value: AttributeTree): Answer[] {
  const contents = contentsOf(value);
  const { texts, toolCalls, responses } = contents;
  const role = roleOf(value.role, 'assistant');
  const said = value.content ?? value.parts;
  const answer: Answer = {
    ...contents,
    role,
    id: role === 'tool' ? firstText(value.tool_call_id, value.id) : undefined,
    isReasoning: reasoningRoles.has(value.role ?? value.type),
    finishReason: finishReasonOf(value),
    structure: typeof said === 'object' && said !== null && !isExact(said) ? said : undefined,
    others: othersIn(value),
  };
  if (responses.length === 0) return [answer];
  if (texts.length > 0 || toolCalls.length > 0) {
    const results = responses.map(({ text, others }) => ({ ...nothing(), role: 'tool', texts: [text], others }));
    return [answer, ...results];
  }
  append(
    texts,
    responses.map(({ text }) => text),
  );
  return [{ ...answer, others: [...answer.others, ...responses.flatMap(othersOfResponse)] }];
}

const eventOf = ({ role, texts, toolCalls, finishReason, others }: Answer): Event => ({
  type: 'message',
  role: messageRole(role) ?? 'assistant',
  content: texts.join('\n'),
  ...(toolCalls.length > 0 ? { content_parts: toolCalls.map(({ id, function: of }) => ({ type: 'tool_call', id, ...of })) } : {}),
  ...(finishReason === undefined && others.length === 0
    ? {}
    : { metadata: { ...Object.fromEntries(others), ...(finishReason === undefined ? {} : { finish_reason: finishReason }) } }),
});

function message(
  role: string,
  texts: readonly string[],
  toolCalls: readonly ToolCall[],
  { id, others = NO_OTHERS }: { id?: string | undefined; others?: [string, AttributeValue][] },
): SaidMessage {
  const [only = ''] = texts;
  return {
    role,
    content: texts.length > 1 ? texts.map((text) => ({ type: 'text' as const, text })) : only,
    ...(toolCalls.length > 0 ? { tool_calls: [...toolCalls] } : {}),
    ...(id === undefined ? {} : { tool_call_id: id }),
    ...(others.length > 0 ? { others } : {}),
  };
}

const withOthers = (said: SaidMessage, others: [string, AttributeValue][]): SaidMessage =>
  others.length === 0 ? said : { ...said, others: [...(said.others ?? []), ...others] };

/** Returns what results of one answer say besides: by their places, from the second on. */
const othersOfResponse = ({ others }: Contents['responses'][number], index: number): [string, AttributeValue][] =>
  index === 0 ? others : others.map(([name, other]) => [`${index}.${name}`, other]);

/** The text of a message's content, parts one below the other. */
export const contentText = (content: LoggedMessage['content']): string =>
  typeof content === 'string' ? content : content.map((part) => ('text' in part ? part.text : '')).join('\n');
