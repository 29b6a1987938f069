import type { RunUsageBody } from '../wire/runUsage.ts';

/** Null where nothing says it; the cost in US dollars, of those whose cost is known. */
interface Usage {
  inputTokens: number | null;
  outputTokens: number | null;
  totalTokens: number | null;
  cost: number | null;
  /** Model calls, or judged scores, whose cost is not known. */
  withoutCost: number;
}

/** Usage of the model calls of an experiment's traces, and of its judges. */
export interface RunUsage {
  run: Usage;
  judges: Usage & { scores: number };
}

/** The same as answers name it. */
export const usageBody = ({ run, judges }: RunUsage): RunUsageBody => ({
  run: { ...sumsOf(run), num_spans_without_cost: run.withoutCost },
  judges: { ...sumsOf(judges), num_scores: judges.scores, num_scores_without_cost: judges.withoutCost },
});

const sumsOf = ({ inputTokens, outputTokens, totalTokens, cost }: Usage) => ({
  num_input_tokens: inputTokens,
  num_output_tokens: outputTokens,
  num_total_tokens: totalTokens,
  cost,
});
