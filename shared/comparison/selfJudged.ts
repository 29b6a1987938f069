import type { ComparedMetric } from './comparedMetrics.ts';
import type { Side } from './comparedSides.ts';
import type { MetricsDeps } from './metricsToCompare.ts';

/** Why a score of a model's own answers counts for less. */
export const selfJudgedReason = 'a model tends to find its own answers good';

/** A warning for each experiment whose answers were judged, in one of these metrics, by the model that gave them. */
export async function selfJudgedWarnings(
  deps: MetricsDeps,
  projectId: string,
  sides: readonly Pick<Side, 'experiment'>[],
  metrics: readonly Pick<ComparedMetric, 'id' | 'name'>[],
): Promise<string[]> {
  const warnings = await Promise.all(
    sides.map(async ({ experiment }) => {
      const computed = await deps.metricsOf({ projectId, experimentId: experiment.id });
      const judged = computed.filter(({ isJudgedByModelUnderTest }) => isJudgedByModelUnderTest);
      return [...Map.groupBy(judged, ({ judgeModel }) => judgeModel ?? 'the model under test')].flatMap(([model, ofModel]) => {
        const names = metrics.flatMap(({ id, name }) => (ofModel.some((one) => one.name === id) ? [name] : []));
        return names.length === 0
          ? []
          : [`${experiment.name}: ${names.join(', ')} judged by ${model}, which gave the answers itself: ${selfJudgedReason}`];
      });
    }),
  );
  return warnings.flat();
}
