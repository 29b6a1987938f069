import { ServiceError } from '../errors/errors.ts';
import { type JudgeImage, type JudgeRequest, NotNow, type ScoreContext } from '../metrics/metric.ts';
import type { ModelCaller } from '../modelCalls/modelCall.ts';
import type { ContentPart } from '../providers/chatMessage.ts';
import type { EnabledMetric } from '../scorers/resolveMetrics.ts';
import type { JudgedRun } from './judgedRun.ts';

/**
 * A judged metric's model: the one its settings name, else the run's own, else the default of the first integration.
 * @param asksAgain whether an answer that cannot be read is asked for once more
 * @param stopping ends waits for a slot, a rate or a retry; a call that is under way goes on until `signal` aborts
 * @param confirm asked before each call
 */
export function judgeContext(
  models: Pick<ModelCaller, 'complete'>,
  { modelAlias, maxCallAttempts, limits, jobId, userId, projectId, runId }: JudgedRun,
  metric: EnabledMetric,
  signal: AbortSignal,
  stopping: AbortSignal,
  confirm: () => Promise<void>,
  asksAgain: boolean,
): ScoreContext {
  const several = metric.judgeModels;
  return {
    signal,
    asksAgain,
    async complete({ system, prompt, images, embeds, schema, judge = 0, signal: ofCall }: JudgeRequest) {
      const answer = await models
        .complete({
          modelAlias: several?.[judge % several.length] ?? metric.judgeModel ?? modelAlias,
          embeds: embeds !== undefined,
          messages: embeds?.map((content) => ({ role: 'user' as const, content })) ?? [
            ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
            { role: 'user' as const, content: images ? withImages(prompt, images) : prompt },
          ],
          settings: schema === undefined ? {} : { response_format: toResponseFormat(schema) },
          mayLeaveOut: true,
          context: { jobId, userId, projectId, runId },
          retry: { maxAttempts: maxCallAttempts },
          limits,
          signal: ofCall,
          stopping,
          confirm,
        })
        .catch((err: unknown) => {
          const isCalledBack = stopping.aborted && err === stopping.reason;
          // A passing failure of the service is no fault of the judge.
          if (isCalledBack || (err instanceof ServiceError && !err.permanent))
            throw new NotNow('the judge is asked later', { cause: err });
          throw err;
        });
      return {
        text: answer.text,
        inputTokens: answer.inputTokens,
        outputTokens: answer.outputTokens,
        model: answer.model,
        costUsd: answer.costUsd,
        finishReason: answer.refusal === null ? answer.finishReason : 'refusal',
        reasoningTokens: answer.reasoningTokens,
        reasoning: answer.reasoning,
        adjustments: answer.adjustments,
      };
    },
  };
}

/** https://platform.openai.com/docs/guides/images-vision */
const withImages = (text: string, images: readonly JudgeImage[]): ContentPart[] => [
  { type: 'text', text },
  ...images.map(
    (image) =>
      typeof image === 'string' ? { type: 'image_url', image_url: { url: image } } : { type: 'file', file_id: image.fileId }, // whose bytes the call reads
  ),
];

/** https://platform.openai.com/docs/guides/structured-outputs */
const toResponseFormat = (schema: Record<string, unknown>) => ({
  type: 'json_schema',
  json_schema: { name: 'verdict', strict: true, schema },
});
