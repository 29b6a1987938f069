import { actionCompletion } from './actionCompletion.ts';
import { contextAdherence } from './contextAdherence.ts';
import { correctness } from './correctness.ts';
import { groundTruthAdherence } from './groundTruthAdherence.ts';
import { inputToxicity } from './inputToxicity.ts';
import { seeing, withImages } from './judging/images.ts';
import type { Metric } from './metric.ts';
import { outputToxicity } from './outputToxicity.ts';
import { reasoningCoherence } from './reasoningCoherence.ts';
import { userIntentChange } from './userIntentChange.ts';

/** The same question put to a judge that is shown the record's images beside its texts. */
const vision = (metric: Metric, name: string): Metric => ({
  ...metric,
  name,
  label: `${metric.label} (Vision)`,
  description: `${metric.description} The judge is shown the images of the record.`,
  needsParts: [...(metric.needsParts ?? []), 'image'],
  multimodal: 'vision',
  async score(record, context) {
    const seen = withImages(record);
    return 'notApplicable' in seen ? seen : metric.score(seen.record, seeing(context, seen));
  },
});

/** Metrics of records with images, by the wire names that clients have for them. */
export const visionForms: readonly Metric[] = [
  vision(actionCompletion, 'action_completion_vision'),
  vision(contextAdherence, 'context_adherence_vision'),
  vision(correctness, 'correctness_vision'),
  vision(groundTruthAdherence, 'ground_truth_adherence_vision'),
  vision(inputToxicity, 'input_toxicity_vision'),
  vision(outputToxicity, 'output_toxicity_vision'),
  vision(reasoningCoherence, 'reasoning_coherence_vision'),
  vision(userIntentChange, 'user_intent_change_vision'),
];
