import type { Attempt, ModelAnswer } from '../modelCalls/modelCall.ts';
import { triesOf } from '../modelCalls/triesOf.ts';
import { LoggedTraces } from '../recordSchemas/ingest.ts';
import type { PreparedCall } from './playgroundCall.ts';

/** How a call ended. */
export interface CallEnd {
  startedAt: Date;
  /** The answer, whole or broken off; undefined where no try was made. */
  answer: ModelAnswer | undefined;
  attempts: readonly Attempt[];
  /** Undefined of a call that succeeded. */
  failure: { detail: string; status: number; isCancelled: boolean } | undefined;
}

/** Characters of variables and of settings that the trace keeps beside the messages, in which the former are filled in. */
const MAX_KEPT = 20_000;

/** The records of a call: a trace with one llm span. */
export function playgroundTrace(
  ids: { traceId: string; spanId: string },
  call: PreparedCall,
  { startedAt, answer, attempts, failure }: CallEnd,
) {
  const { version, settings } = call;
  const name = version?.name ?? 'playground call';
  const reasoning = answer?.reasoning ?? null;
  const common = {
    name,
    created_at: startedAt.toISOString(),
    status_code: failure?.status ?? 200,
    error_message: failure?.detail ?? '',
    tags: failure?.isCancelled ? ['cancelled'] : [],
  };
  const duration = answer ? { duration_ns: answer.durationNs } : {};
  return LoggedTraces.parse([
    {
      ...common,
      id: ids.traceId,
      input: call.input || call.messages,
      output: answer?.text ?? '',
      user_metadata: {
        called_by: call.caller.email,
        ...(version && {
          prompt_template: version.name,
          prompt_template_version: String(version.version),
          prompt_template_version_id: version.id,
          ...(call.isChanged && { prompt_template_changed: 'true' }),
        }),
        ...metadataEntry('variables', call.variables),
        ...metadataEntry('settings', sentSettings(settings)),
      },
      metrics: duration,
      spans: [
        {
          ...common,
          type: 'llm',
          id: ids.spanId,
          input: call.messages,
          output: answer?.message ?? { role: 'assistant', content: '' },
          model: answer?.model ?? settings.model_alias,
          finish_reason: answer?.finishReason ?? null,
          temperature: settings.temperature,
          tools: settings.tools,
          ...(reasoning !== null && { events: [{ type: 'reasoning', content: reasoning }] }),
          user_metadata: {
            ...triesOf(attempts),
            ...(answer && answer.adjustments.length > 0 && { sent_otherwise: JSON.stringify(answer.adjustments) }),
          },
          metrics: {
            ...duration,
            ...(answer && {
              num_input_tokens: answer.inputTokens,
              num_output_tokens: answer.outputTokens,
              num_total_tokens: answer.totalTokens,
              num_cached_input_tokens: answer.cachedInputTokens,
              num_cache_write_input_tokens: answer.cacheWriteTokens,
              num_reasoning_output_tokens: answer.reasoningTokens,
              ...(answer.costUsd !== null && { cost: answer.costUsd }),
              ...(answer.timeToFirstTokenNs !== null && { time_to_first_token_ns: answer.timeToFirstTokenNs }),
            }),
          },
        },
      ],
    },
  ]);
}

const sentSettings = ({ known_models: _, ...settings }: PreparedCall['settings']): Record<string, unknown> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null && value !== undefined));

function metadataEntry(name: string, value: Readonly<Record<string, unknown>>): Record<string, string> {
  const text = JSON.stringify(value);
  return text === '{}' || text.length > MAX_KEPT ? {} : { [name]: text };
}
