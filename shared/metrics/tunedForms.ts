import { actionAdvancement } from './actionAdvancement.ts';
import { actionCompletion } from './actionCompletion.ts';
import { chunkAttributionUtilization } from './chunkAttributionUtilization.ts';
import { chunkRelevance } from './chunkRelevance.ts';
import { completeness } from './completeness.ts';
import { contextAdherence } from './contextAdherence.ts';
import { contextRelevance } from './contextRelevance.ts';
import { inputPii } from './inputPii.ts';
import { inputSexism } from './inputSexism.ts';
import { inputTone } from './inputTone.ts';
import { inputToxicity } from './inputToxicity.ts';
import type { Metric, Score } from './metric.ts';
import { outputPii } from './outputPii.ts';
import { outputSexism } from './outputSexism.ts';
import { outputTone } from './outputTone.ts';
import { outputToxicity } from './outputToxicity.ts';
import { promptInjection } from './promptInjection.ts';
import { toolErrorRate } from './toolErrorRate.ts';
import { toolSelectionQuality } from './toolSelectionQuality.ts';

/**
 * The form of a metric that clients know as computed by a small tuned model. There is no such model here: the judge, or the code, of the metric itself
 * computes it, and each value says so in its metadata. Yes and no are 1 and 0, since a tuned model gives a share: of several judges that of those who say yes.
 */
function tuned(metric: Metric, name: string): Metric {
  const levels = {
    displayValueLevels: ['Low', 'Medium', 'High'],
    buckets: metric.direction === 'lower' ? [0.2, 0.6] : [0.4, 0.8],
  };
  const asShare: Partial<Metric> =
    metric.outputType === 'boolean'
      ? { dataType: 'floating_point', dataUnit: 'percentage', outputType: 'percentage', rollUp: 'average', threshold: levels }
      : {};
  const by = metric.needs === 'judge' ? 'the judge' : 'the code';
  return {
    ...metric,
    ...asShare,
    name,
    label: `${metric.label} (SLM)`,
    description: `${metric.description} Computed by ${by} of \`${metric.name}\`: there is no small tuned model.`,
    tunedFormOf: metric.name,
    score: async (record, context) => markScore(await metric.score(record, context), metric.name),
  };
}

const markScore = (score: Score, computedBy: string): Score =>
  'value' in score
    ? {
        ...score,
        value: typeof score.value === 'boolean' ? Number(score.value) : score.value,
        metadata: { ...score.metadata, computed_by: computedBy },
      }
    : score;

/** The small tuned forms that clients can ask for, by their wire names. Of personal data and tone the plain name is that of the tuned form. */
export const tunedForms: readonly Metric[] = [
  tuned(actionAdvancement, 'action_advancement_luna'),
  tuned(actionCompletion, 'action_completion_luna'),
  tuned(chunkAttributionUtilization, 'chunk_attribution_utilization_luna'),
  tuned(chunkRelevance, 'chunk_relevance_luna'),
  tuned(completeness, 'completeness_luna'),
  tuned(contextAdherence, 'context_adherence_luna'),
  tuned(contextRelevance, 'context_relevance_luna'),
  tuned(inputPii, 'input_pii'),
  tuned(inputSexism, 'input_sexist_luna'),
  tuned(inputTone, 'input_tone'),
  tuned(inputToxicity, 'input_toxicity_luna'),
  tuned(outputPii, 'output_pii'),
  tuned(outputSexism, 'output_sexist_luna'),
  tuned(outputTone, 'output_tone'),
  tuned(outputToxicity, 'output_toxicity_luna'),
  tuned(promptInjection, 'prompt_injection_luna'),
  tuned(toolErrorRate, 'tool_error_rate_luna'),
  tuned(toolSelectionQuality, 'tool_selection_quality_luna'),
];
