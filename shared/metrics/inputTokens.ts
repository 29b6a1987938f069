import { countTokens } from './countTokens.ts';
import { TOKENS } from './groups.ts';
import type { Metric } from './metric.ts';

export const inputTokens: Metric = {
  name: 'input_tokens',
  label: 'Input Tokens',
  description: 'Tokens sent to models during the record.',
  ...TOKENS,
  score: (record) => countTokens(record, 'inputTokens'),
};
