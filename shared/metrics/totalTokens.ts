import { countTokens } from './countTokens.ts';
import { TOKENS } from './groups.ts';
import type { Metric } from './metric.ts';

export const totalTokens: Metric = {
  name: 'total_tokens',
  label: 'Total Tokens',
  description: 'Tokens sent to and answered by models during the record.',
  ...TOKENS,
  score: (record) => countTokens(record, 'totalTokens'),
};
