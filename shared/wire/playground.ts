import { z } from 'zod';
import { Uuid } from './common.ts';
import { PromptRunSettings, Template } from './prompts.ts';

/**
 * One call of a model, outside an experiment: `POST /v2/projects/{project_id}/playground_calls`. It needs the project's action `use_playground`, which
 * owners and editors hold. Lists of permissions show it only where they are asked for it (`GET /v2/projects/{project_id}?actions=use_playground`, and
 * `actions` of `POST /v2/projects/paginated`): programs that know the interface's actions alone never meet it.
 *
 * Mistakes that the service sees before the call are ordinary errors: a variable of the template without a value (422, `prompt_variable_unknown` with
 * the closest name), an unknown model (422), an unknown version (404), too many calls at once or a reached limit of the project (429 with
 * `Retry-After`). Else the answer is a stream of server-sent events: `started`, any number of `delta`, and last one of `completed` and `failed`.
 * Comments come between them while nothing happens. A caller that closes the connection cancels the call.
 */
export const PlaygroundCallRequest = z
  .strictObject({
    template: Template.nullish().describe(
      'The text of one user message, or messages, with variables as in a prompt. Absent: that of the version.',
    ),
    variables: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe('Values of the variables of the template, as the columns of a dataset row; values are any JSON.'),
    settings: PromptRunSettings.nullish().describe(
      'As those of a prompt. `model_alias` may name the integration too, as in `gateway/model`. Absent: those of the version, or the defaults.',
    ),
    prompt_template_version_id: Uuid.nullish().describe(
      'The version of a prompt that is called, or that the template given here began as: its record names it.',
    ),
  })
  .refine(({ template, prompt_template_version_id: version }) => template != null || version != null, {
    path: ['template'],
    error: 'give a template, or the prompt_template_version_id of one',
  })
  .meta({
    id: 'PlaygroundCallRequest',
    examples: [
      {
        template: [{ role: 'user', content: 'Where is {{city}}?' }],
        variables: { city: 'Oslo' },
        settings: { model_alias: 'gpt-4o-mini', temperature: 0 },
      },
    ],
  });
export type PlaygroundCallRequest = z.output<typeof PlaygroundCallRequest>;

/** A message as it is sent: variables filled in, other keys as they came. */
export interface PlaygroundMessage {
  role: string;
  content: string | ({ type: 'text'; text: string } | { type: 'file'; file_id: string })[];
  [key: string]: unknown;
}

/** The data of the event `started`. Nothing is paid yet. */
export interface PlaygroundStarted {
  /** The trace that the call is recorded as when it has ended, however it ends. */
  trace_id: string;
  /** The llm span below it. */
  span_id: string;
  /** The project's log stream `playground`. */
  log_stream_id: string;
  messages: PlaygroundMessage[];
  /** Variables that were given and that the template does not use. */
  unused_variables: string[];
  /** The model as its integration lists it. */
  model: string;
  /** The integration's name. */
  integration: string;
  /** Settings that were asked for and that this model is not sent. */
  unsent_settings: string[];
}

/** A piece of a tool call. Pieces with the same `index` are one call; their `arguments` are to be joined. */
export interface PlaygroundToolCallDelta {
  index: number;
  /** Absent in pieces that do not say it. */
  id?: string;
  name?: string;
  arguments: string;
}

/** The data of an event `delta`: what has come since the one before. Texts may be empty. A model that does not stream answers in one. */
export interface PlaygroundDelta {
  text: string;
  /** The model's reasoning, where its endpoint marks it: no part of the text. */
  reasoning: string;
  tool_calls: PlaygroundToolCallDelta[];
}

export interface PlaygroundToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/** The outcome of a call, whole or broken off. A null figure is unknown. */
export interface PlaygroundOutcome {
  trace_id: string;
  /** False where the records could not be stored. */
  is_recorded: boolean;
  /** The whole answer of the model, which counts whatever the deltas were. A call that failed has the part that came; null where none came. */
  output: { role: 'assistant'; content: string; tool_calls?: PlaygroundToolCall[] } | null;
  reasoning: string | null;
  /** As the endpoint names it. */
  model: string;
  finish_reason: string | null;
  num_input_tokens: number | null;
  num_output_tokens: number | null;
  num_total_tokens: number | null;
  num_cached_input_tokens: number | null;
  num_reasoning_output_tokens: number | null;
  /** In US dollars; null when the price or a count that has a price is unknown. */
  cost: number | null;
  /** Where the price is from: set on the integration, or of the list. Null where the cost is. */
  price_source: 'integration' | 'list' | null;
  /** Nanoseconds of the last try alone, no wait; null where none was made. */
  duration_ns: number | null;
  /** From the start of that try until the first piece of the answer; null where the model did not stream. */
  time_to_first_token_ns: number | null;
  /** Tries that were made; those after the first are retries. */
  num_tries: number;
  /** Parts of the request that were sent otherwise than asked for because the endpoint does not take them so, in words. */
  sent_otherwise: string[];
}

/** The data of the event `completed`. */
export type PlaygroundCompleted = PlaygroundOutcome;

export const playgroundFailures = [
  ...(['rate_limited', 'http_error', 'unauthorized', 'timeout', 'connection_error', 'malformed_answer'] as const),
  /** By the rules of this service for addresses or for the files of a prompt. */
  'refused',
  'handler_error',
  /** For a minute the endpoint asked to wait, or other calls used up the limits of the integration. */
  'waited_too_long',
  /** By the caller, who sees this event only while the connection is open. */
  'cancelled',
  /** The service is about to stop. */
  'stopping',
  /** By this service itself. */
  'internal',
] as const;
export type PlaygroundFailure = (typeof playgroundFailures)[number];

/** The data of the event `failed`. */
export interface PlaygroundFailed extends PlaygroundOutcome {
  kind: PlaygroundFailure;
  /** For people, in one sentence; never holds what the other side sent. */
  detail: string;
  /** HTTP status that the endpoint answered with; null where it did not answer. */
  status: number | null;
  /** True where the same call may work later. */
  is_retriable: boolean;
}

export type PlaygroundEvent =
  | { event: 'started'; data: PlaygroundStarted }
  | { event: 'delta'; data: PlaygroundDelta }
  | { event: 'completed'; data: PlaygroundCompleted }
  | { event: 'failed'; data: PlaygroundFailed };
