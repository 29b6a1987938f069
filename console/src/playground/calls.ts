import { useSyncExternalStore } from 'react';
import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import type {
  PlaygroundEvent,
  PlaygroundFailed,
  PlaygroundOutcome,
  PlaygroundStarted,
  PlaygroundToolCallDelta,
} from '../../../shared/wire/playground.ts';
import { type CallRequest, callModel } from '../data/playground.ts';
import { SignedOut } from '../session/session.ts';
import { type GrowingText, grownBy, noText, textOf } from './growingText.ts';

type ToolCall = { name: string; arguments: string };

/** A call of a model as far as it is. */
export interface Call {
  /** The question of the call, as `askedOf` writes it. */
  asked: string;
  state: 'waiting' | 'writing' | 'completed' | 'failed' | 'stopped';
  text: GrowingText;
  reasoning: GrowingText;
  toolCalls: readonly ToolCall[];
  started?: PlaygroundStarted;
  outcome?: PlaygroundOutcome;
  failure?: PlaygroundFailed;
  /** Why there is no outcome: the service refused the call, or the connection broke. */
  error?: unknown;
}

export const isUnderWay = (call: Call | undefined): boolean => call?.state === 'waiting' || call?.state === 'writing';

/** Writes a model's answer as text. */
export const outputOf = ({ text, toolCalls }: Call): string =>
  [textOf(text), ...toolCalls.map((one) => `calls ${one.name}(${one.arguments})`)].filter((part) => part !== '').join('\n\n');

/** Calls by the column that they are of. They go on while another page of the console is shown. */
const calls = new Map<string, Call>();
const stops = new Map<string, AbortController>();
const listeners = new Set<() => void>();
let isNotified = true;

/** Says at most once a frame that something came: models write hundreds of pieces a second. */
function notify(): void {
  if (!isNotified) return;
  isNotified = false;
  requestAnimationFrame(() => {
    isNotified = true;
    for (const listener of listeners) listener();
  });
}

function set(column: string, call: Call | undefined): void {
  if (call) calls.set(column, call);
  else calls.delete(column);
  notify();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useCall = (column: string): Call | undefined => useSyncExternalStore(subscribe, () => calls.get(column));

/** A text that says which of the columns have a call under way or an output: it changes when one begins or ends, and not while it goes on. */
export const useStates = (columns: readonly string[]): string =>
  useSyncExternalStore(subscribe, () => columns.map((column) => calls.get(column)?.state ?? '').join(' '));

export const callOf = (column: string): Call | undefined => calls.get(column);

/** Writes a request so that it can be compared with another. */
export const askedOf = ({ template, variables, settings }: CallRequest): string =>
  jsonWithBigInts([template, variables, settings]);

/** Breaks a call off: the service cancels it, and records what has come. */
export function stop(column: string): void {
  stops.get(column)?.abort();
}

/** Stops what the column does and forgets its output. */
export function forget(column: string): void {
  stop(column);
  set(column, undefined);
}

/** Calls a model for a column, in place of the call that it had. */
export async function run(column: string, projectId: string, request: CallRequest): Promise<void> {
  const before = calls.get(column);
  stop(column);
  const stopping = new AbortController();
  stops.set(column, stopping);
  const isOwn = () => stops.get(column) === stopping;
  const change = (changed: Partial<Call>) => {
    const now = calls.get(column);
    if (isOwn() && now) set(column, { ...now, ...changed });
  };
  set(column, { asked: askedOf(request), state: 'waiting', text: noText, reasoning: noText, toolCalls: [] });
  try {
    for await (const event of callModel(projectId, request, stopping.signal)) {
      const now = calls.get(column);
      if (!isOwn() || !now) return;
      set(column, after(now, event));
    }
    if (isUnderWay(calls.get(column))) change({ state: 'failed', error: new Error(BROKEN) });
  } catch (error) {
    if (stopping.signal.aborted) change({ state: 'stopped' });
    else if (error instanceof SignedOut) {
      // Nothing was called. A user who signs in again finds the page as it was.
      if (isOwn()) set(column, before && isUnderWay(before) ? { ...before, state: 'stopped' } : before);
    } else change({ state: 'failed', error: calls.get(column)?.started ? new Error(BROKEN, { cause: error }) : error });
  }
}

const BROKEN =
  'The connection to the service broke, and with it the call. What had come is above; its trace says how it ended. Run it again when you like.';

/** The call after an event of it. */
export function after(call: Call, { event, data }: PlaygroundEvent): Call {
  switch (event) {
    case 'started':
      return { ...call, started: data };
    case 'delta':
      return {
        ...call,
        state: 'writing',
        text: grownBy(call.text, data.text),
        reasoning: grownBy(call.reasoning, data.reasoning),
        toolCalls: data.tool_calls.reduce(withPiece, call.toolCalls),
      };
    case 'completed':
      return { ...withOutput(call, data), state: 'completed', outcome: data };
    case 'failed':
      return { ...withOutput(call, data), state: data.kind === 'cancelled' ? 'stopped' : 'failed', outcome: data, failure: data };
  }
}

function withPiece(calls: readonly ToolCall[], piece: PlaygroundToolCallDelta): readonly ToolCall[] {
  const before = calls[piece.index] ?? { name: '', arguments: '' };
  const grown = { name: piece.name ?? before.name, arguments: before.arguments + piece.arguments };
  return Object.assign([...calls], { [piece.index]: grown });
}

/** The whole output counts: after a retry the pieces were those of two tries. */
function withOutput(call: Call, { output, reasoning }: PlaygroundOutcome): Call {
  const settled = (text: GrowingText, whole: string) => (textOf(text) === whole ? text : grownBy(noText, whole));
  return {
    ...call,
    ...(output && {
      text: settled(call.text, output.content),
      toolCalls: (output.tool_calls ?? []).map(({ function: called }) => called),
    }),
    ...(reasoning !== null && { reasoning: settled(call.reasoning, reasoning) }),
  };
}
