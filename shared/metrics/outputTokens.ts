import { countTokens } from './countTokens.ts';
import { TOKENS } from './groups.ts';
import type { Metric } from './metric.ts';

export const outputTokens: Metric = {
  name: 'output_tokens',
  label: 'Output Tokens',
  description: 'Tokens that models answered with during the record.',
  ...TOKENS,
  score: (record) => countTokens(record, 'outputTokens'),
};
