import type { Metric } from '../metrics/metric.ts';
import type { ScorerConfig } from '../wire/scorers.ts';

/** The interface's word for the model that computes a metric: `slm` of the forms that clients know as small tuned models, whatever computes them here. */
export const modelTypeOf = ({
  needs,
  tunedFormOf,
}: Pick<Metric, 'needs' | 'tunedFormOf'>): NonNullable<ScorerConfig['model_type']> =>
  tunedFormOf !== undefined ? 'slm' : needs === 'judge' ? 'llm' : 'code';
