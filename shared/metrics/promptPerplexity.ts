import { LOG_PROBABILITIES, ofSurprise } from './logProbabilities.ts';
import type { Metric } from './metric.ts';

export const promptPerplexity: Metric = {
  name: 'prompt_perplexity',
  label: 'Prompt Perplexity',
  description:
    'How unusual the prompt is to the model: e to the mean of −log p, from the log probabilities in the metadata (`prompt_logprobs`). 1 is foreseen word for word.',
  ...LOG_PROBABILITIES,
  score: ofSurprise('prompt_logprobs', Math.exp),
};
