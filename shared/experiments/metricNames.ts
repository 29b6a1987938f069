import { builtinIdOf } from '../scorers/presets.ts';
import type { Scorer } from '../scorers/scorer.ts';
import type { ExperimentAggregates } from './aggregates.ts';

/** Under which name and which scorer's id a metric is shown; one of the two is the key of its aggregates. */
export interface MetricName {
  name: string;
  scorerId: string;
}

/** Scorers of users by their ids, deleted ones included. */
export type FindScorers = (ids: readonly string[]) => Promise<readonly Pick<Scorer, 'id' | 'name'>[]>;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** True of the key of a metric that a user's scorer computes; keys of the others are names. */
export const isScorerId = (key: string): boolean => UUID.test(key);

const keysOf = ({ aggregates }: { aggregates: ExperimentAggregates | null }): string[] => Object.keys(aggregates?.metrics ?? {});

/**
 * Returns what the metrics of each of these experiments are called, in their order. A name that several metrics of an experiment have, or that is another's
 * key, names none of them: those are shown by the scorer's id alone.
 */
export async function metricNames(
  findScorers: FindScorers,
  experiments: readonly { aggregates: ExperimentAggregates | null }[],
): Promise<MetricName[][]> {
  const ids = new Set(experiments.flatMap(keysOf).filter(isScorerId));
  const scorers = ids.size > 0 ? await findScorers([...ids]) : [];
  const nameOf = new Map(scorers.map(({ id, name }) => [id, name]));
  return experiments.map((experiment) => {
    const keys = new Set(keysOf(experiment));
    const named = [...keys].flatMap((key): MetricName[] => {
      const name = nameOf.get(key);
      if (name !== undefined) return keys.has(name) ? [] : [{ name, scorerId: key }];
      const scorerId = builtinIdOf(key);
      return scorerId === undefined ? [] : [{ name: key, scorerId }];
    });
    return [...Map.groupBy(named, ({ name }) => name).values()].flatMap((same) => (same.length > 1 ? [] : same));
  });
}

/** The same values under both keys of each metric. */
export function underBothKeys<T>(byKey: Readonly<Record<string, T>>, names: readonly MetricName[]): Record<string, T> {
  const added = names.flatMap(({ name, scorerId }): [string, T][] => {
    if (Object.hasOwn(byKey, name)) return [[scorerId, byKey[name] as T]];
    return Object.hasOwn(byKey, scorerId) ? [[name, byKey[scorerId] as T]] : [];
  });
  return Object.fromEntries([...added, ...Object.entries(byKey)]);
}

/** The same values under one key of each metric: its name, and the scorer's id where no name is its own. */
export function underNames<T>(byKey: Readonly<Record<string, T>>, names: readonly MetricName[]): Record<string, T> {
  const nameOf = new Map(names.map(({ name, scorerId }) => [scorerId, name]));
  return Object.fromEntries(Object.entries(byKey).map(([key, value]) => [nameOf.get(key) ?? key, value]));
}
