import { templateVariables } from '../../shared/datasets/experimentRow.ts';
import { type ExperimentRow, type ExperimentRun, jobIdOf } from '../../shared/experiments/experiment.ts';
import type { RowResult } from '../../shared/experiments/rowTrace.ts';
import type { RowContext, RowRunner } from '../../shared/experiments/runRows.ts';
import { type ModelAnswer, ModelCallError, type ModelCaller } from '../../shared/modelCalls/modelCall.ts';
import { triesOf } from '../../shared/modelCalls/triesOf.ts';
import { type PromptTemplate, renderPrompt } from '../../shared/prompts/render.ts';
import type { LoggedSpan } from '../../shared/recordSchemas/loggedRecords.ts';

/**
 * Renders the template per row and sends it to a model through an integration. A failed call is the row's error, recorded with its span.
 * @param measures whether metrics of the run look at the log probabilities of the answer, and at those of the prompt
 */
export function promptTemplateRunner(
  run: ExperimentRun,
  template: { name: string; template: PromptTemplate },
  settings: Record<string, unknown>,
  models: ModelCaller,
  measures: { ofAnswer: boolean; ofPrompt: boolean },
): RowRunner {
  const modelAlias = String(settings.model_alias ?? '');
  const context = { jobId: jobIdOf(run), userId: run.createdBy, projectId: run.projectId, runId: run.experimentId };
  return {
    async run(row: ExperimentRow, { signal, waiting, stopping, confirm, memory }: RowContext): Promise<RowResult> {
      const startedAt = new Date();
      const messages = renderPrompt(template.template, templateVariables(row));
      try {
        const answer = await models.complete({
          modelAlias,
          messages,
          settings,
          areFilledIn: true,
          wantsLogProbabilities: measures.ofAnswer,
          wantsPromptLogProbabilities: measures.ofPrompt,
          context,
          retry: { maxAttempts: run.settings.maxCallAttempts },
          timeLimitMs: run.settings.rowTimeLimitMs,
          limits: run.settings.limits,
          signal,
          waiting,
          stopping,
          confirm,
          memory,
        });
        return {
          output: settings.include_reasoning === true ? withReasoning(answer) : answer.text,
          startedAt,
          durationNs: answer.durationNs,
          attempts: answer.attempts.length,
          spans: [
            span(startedAt, {
              input: messages,
              output: answer.message,
              model: answer.model,
              finish_reason: answer.finishReason,
              status_code: 200,
              ...(answer.reasoning === null ? {} : { events: [{ type: 'reasoning', content: answer.reasoning }] }),
              user_metadata: {
                ...triesOf(answer.attempts),
                ...(measures.ofAnswer && logProbabilitiesOf(answer)),
                ...(measures.ofPrompt && promptLogProbabilitiesOf(answer)),
                ...(answer.adjustments.length > 0 && { sent_otherwise: JSON.stringify(answer.adjustments) }),
              },
              metrics: {
                duration_ns: answer.durationNs,
                num_input_tokens: answer.inputTokens,
                num_output_tokens: answer.outputTokens,
                num_total_tokens: answer.totalTokens,
                num_cached_input_tokens: answer.cachedInputTokens,
                num_cache_write_input_tokens: answer.cacheWriteTokens,
                num_reasoning_output_tokens: answer.reasoningTokens,
                ...(answer.costUsd === null ? {} : { cost: answer.costUsd }),
              },
            }),
          ],
        };
      } catch (err) {
        signal.throwIfAborted();
        if (!(err instanceof ModelCallError)) throw err;
        // As of a call that succeeds: the time of the last try alone.
        const last = err.attempts.at(-1);
        const durationNs = last ? (last.endedAt - last.startedAt) * 1_000_000 : null;
        return {
          output: null,
          // Written for people: it holds no upstream body.
          error: err.message,
          isProviderFailure: err.isOfProvider,
          isExhausted: err.isExhausted,
          startedAt,
          durationNs,
          attempts: Math.max(1, err.attempts.length),
          spans: [
            span(startedAt, {
              input: messages,
              output: { role: 'assistant', content: '' },
              model: modelAlias,
              status_code: err.status ?? 500,
              error_message: err.message,
              user_metadata: triesOf(err.attempts),
              metrics: durationNs === null ? {} : { duration_ns: durationNs },
            }),
          ],
        };
      }
    },
    close: async () => undefined,
  };

  function span(startedAt: Date, fields: Record<string, unknown>): LoggedSpan {
    return {
      type: 'llm',
      name: template.name,
      created_at: startedAt.toISOString(),
      temperature: typeof settings.temperature === 'number' ? settings.temperature : null,
      tools: Array.isArray(settings.tools) ? settings.tools : null,
      tags: [],
      ...fields,
    } as unknown as LoggedSpan;
  }
}

function logProbabilitiesOf({ logProbabilities, averageLogProbability }: ModelAnswer): { logprobs?: string } {
  if (logProbabilities !== null) return { logprobs: shortList(logProbabilities) };
  return averageLogProbability === null ? {} : { logprobs: JSON.stringify({ avgLogprobs: averageLogProbability }) };
}

/** Their mean alone: a prompt may have a hundred times the tokens of its answer. */
function promptLogProbabilitiesOf({ promptLogProbabilities: all }: ModelAnswer): { prompt_logprobs?: string } {
  if (all === null) return {};
  const avgLogprobs = all.reduce((sum, one) => sum + one, 0) / all.length;
  return { prompt_logprobs: JSON.stringify({ avgLogprobs, tokens: all.length }) };
}

/** As JSON. Four digits say how sure a model was; all of them would be longer than the answer several times over. */
const shortList = (numbers: readonly number[]): string => JSON.stringify(numbers.map((one) => Number(one.toPrecision(4))));

/** The output of a run that asks for what the model thought as well, in the form that models write it themselves. */
const withReasoning = ({ text, reasoning }: ModelAnswer): string =>
  reasoning === null ? text : `<think>\n${reasoning}\n</think>\n\n${text}`;
