import type { z } from 'zod';
import type { Document, LlmEvent, LoggedMessage } from '../wire/recordParts.ts';
import type { AttributeValue } from './attributes.ts';
import { append } from './messageContents.ts';

export type MappedKind = 'llm' | 'tool' | 'retriever' | 'agent' | 'workflow';
export type RetrievedDocument = z.output<typeof Document>;
export type Event = z.output<typeof LlmEvent>;

/** A message whose role may be one that the interface does not have. */
export type SaidMessage = Omit<LoggedMessage, 'role'> & {
  role: string;
  /** Other fields by name, for which messages of the interface have no place. */
  others?: [string, AttributeValue][];
};

export type StepInput<Message extends SaidMessage = SaidMessage> = string | Message[];
export type StepOutput<Message extends SaidMessage = SaidMessage> = string | Message | RetrievedDocument[];

/** Tokens of one call. Input holds all input tokens, those of a cache included; output all of the output, reasoning included. */
export interface ReportedUsage {
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  totalTokens?: number | undefined;
  cachedTokens?: number | undefined;
  cacheWriteTokens?: number | undefined;
  reasoningTokens?: number | undefined;
  audioInputTokens?: number | undefined;
  audioOutputTokens?: number | undefined;
  imageInputTokens?: number | undefined;
  imageOutputTokens?: number | undefined;
  costUsd?: number | undefined;
}

/** The content of a span by a convention, in the words of the interface. Parts that the convention does not state are undefined. */
export interface SpanContent {
  input?: StepInput | undefined;
  output?: StepOutput | undefined;
  /** The content of `output` as it was written, where that is no text: documents have more than the texts that messages have. */
  answer?: AttributeValue | undefined;
  events?: Event[] | undefined;
  tools?: { [key: string]: AttributeValue }[] | undefined;
  model?: string | undefined;
  temperature?: number | undefined;
  finishReason?: string | undefined;
  toolCallId?: string | undefined;
  agentName?: string | undefined;
  timeToFirstTokenNs?: number | undefined;
  sessionId?: string | undefined;
  /** The input that an experiment gave the span, beside the output that it wants of it. */
  datasetInput?: string | undefined;
  datasetOutput?: string | undefined;
  datasetMetadata?: { [key: string]: AttributeValue } | undefined;
  /** Messages that go before those of any other form. */
  instructions?: SaidMessage[] | undefined;
  tags?: string[] | undefined;
  metadata?: [string, AttributeValue][] | undefined;
}

/** The role of a span, whichever convention states it. */
export interface SpanRole {
  kind: MappedKind;
  /** It calls a model, so that its tokens are its own: those of other spans are sums of calls that have spans themselves. */
  callsModel: boolean;
}

/** Returns true when a step's input or output is none, or messages without a text and without a call. */
export function saysNothing(step: StepInput | StepOutput | undefined): boolean {
  if (step === undefined || step === '') return true;
  if (typeof step === 'string') return false;
  if (!Array.isArray(step)) return isEmptyMessage(step);
  return step.every((one) => 'role' in one && isEmptyMessage(one));
}

const isEmptyMessage = ({ content, tool_calls, others }: SaidMessage): boolean =>
  (content === '' || content.length === 0) && !tool_calls?.length && !others;

/**
 * The first content's word counts, field by field; the others fill what it leaves open, an input or output that says nothing among it. The metadata is
 * that of all.
 */
export function firstOf(...contents: SpanContent[]): SpanContent {
  const all: SpanContent & Record<string, unknown> = {};
  const metadata: NonNullable<SpanContent['metadata']> = [];
  for (const content of contents) {
    if (isEmptied(all.input, content.input)) all.input = content.input;
    if (isEmptied(all.output, content.output)) {
      all.output = content.output;
      all.answer = content.answer;
    }
    for (const name in content) all[name] ??= content[name as keyof SpanContent];
    if (content.metadata) append(metadata, content.metadata);
  }
  if (all.metadata) all.metadata = metadata;
  return all;
}

const isEmptied = (known: SpanContent['output' | 'input'], other: SpanContent['output' | 'input']): boolean =>
  known !== undefined && other !== undefined && saysNothing(known) && !saysNothing(other);
