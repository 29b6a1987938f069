import { RequestInvalid } from '../errors/errors.ts';
import { measuredMetrics } from '../experiments/aggregates.ts';
import type { Experiment } from '../experiments/experimentStore.ts';
import { metricScales } from '../experiments/metricScales.ts';
import type { ComparedUnit } from '../figures/comparedFigure.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import { builtinMetrics } from '../metrics/index.ts';
import type { Metric } from '../metrics/metric.ts';
import { builtinById } from '../scorers/presets.ts';
import type { MetricScale } from '../wire/metricScale.ts';

/** A metric as a comparison needs it. */
export interface ComparedMetric extends MetricScale {
  /** Key of its values. */
  id: string;
  /** Name for people. */
  name: string;
  unit: ComparedUnit;
  isMeasured: boolean;
  isDirectionAssumed: boolean;
}

const isMeasured = (id: string): boolean => (measuredMetrics as readonly string[]).includes(id);

/**
 * Says of metrics what their numbers mean. Among logged numbers without a description, the higher ones are taken for better: most scores are meant so,
 * and the answer says that it was assumed.
 * @param computed metrics that the service computes for the experiments
 */
export function metricDescriber(
  computed: readonly Metric[],
  experiments: readonly Pick<Experiment, 'loggedMetrics'>[],
): (id: string) => ComparedMetric {
  const logged = Object.assign({}, ...experiments.map(({ loggedMetrics }) => loggedMetrics)) as Experiment['loggedMetrics'];
  const scaleOf = metricScales(computed, logged);
  const known = new Map([...builtinMetrics, ...computed].map((metric) => [metric.name, metric]));
  return (id) => {
    const metric = known.get(id);
    const isAssumed = !metric && !isMeasured(id) && !Object.hasOwn(logged, id);
    return {
      id,
      name: metric?.alias ?? id,
      unit: metric?.dataUnit ?? (id === 'cost' ? 'dollars' : id === 'duration_ns' ? 'nano_seconds' : null),
      isMeasured: isMeasured(id),
      isDirectionAssumed: isAssumed,
      ...(isAssumed ? { direction: 'higher' as const, range: null } : scaleOf(id)),
    };
  };
}

/**
 * The metrics that a request names, in its order; all of them without names. An id names its metric, also one that itself looks like a column.
 * @throws RequestInvalid for a name that no experiment has values of
 */
export function namedMetrics(
  all: readonly ComparedMetric[],
  names: readonly string[] | undefined,
  locOf = (index: number): (string | number)[] => ['body', 'metrics', index],
): ComparedMetric[] {
  if (!names) return [...all];
  const found = names.map((name, index) => {
    const given = name.replace(/^metrics\//, '');
    const plain = builtinById(given)?.name ?? given;
    const called = all.filter((one) => one.name === plain);
    const metric =
      all.find(({ id }) => id === name) ?? all.find(({ id }) => id === plain) ?? (called.length > 1 ? undefined : called[0]);
    if (metric) return metric;
    const closest = closestNames(
      plain,
      all.map((one) => one.name),
    );
    const hint = closest.length > 0 ? `; the closest are ${closest.join(', ')}` : '';
    const shown = JSON.stringify(name.slice(0, 200));
    const several = `${shown} names several metrics: take one of ${called.map(({ id }) => id).join(', ')}`;
    throw new RequestInvalid([
      {
        loc: locOf(index),
        msg: called.length > 1 ? several : `no row of these experiments has a value of ${shown}${hint}`,
        type: 'metric_unknown',
      },
    ]);
  });
  return [...new Set(found)];
}
