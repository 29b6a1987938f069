import type { Metric } from '../data/metrics.ts';

/** Names metrics in requests and code, by their ids: by its name where no other one has it, else by its id. */
export function metricReferences(all: readonly Metric[]): ReadonlyMap<string, string> {
  const owners = new Map<string, number>();
  for (const { name, label, metric_name } of all)
    for (const key of new Set([name, label, metric_name ?? ''].map((one) => one.toLowerCase())))
      owners.set(key, (owners.get(key) ?? 0) + 1);
  return new Map(all.map(({ id, name }) => [id, owners.get(name.toLowerCase()) === 1 ? name : id]));
}
