import { LOG_PROBABILITIES, ofSurprise } from './logProbabilities.ts';
import type { Metric } from './metric.ts';

export const uncertainty: Metric = {
  name: 'uncertainty',
  label: 'Uncertainty',
  description:
    'How unsure the model was of the tokens of its output: the mean of −log p, in nats, from the log probabilities in the metadata (`logprobs`). 0 is certain.',
  ...LOG_PROBABILITIES,
  score: ofSurprise('logprobs', (nats) => nats),
};
