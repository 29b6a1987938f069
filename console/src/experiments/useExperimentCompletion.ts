import { useMemo } from 'react';
import { type Experiment, tagsOf } from '../data/experiments.ts';
import { type Option, optionsOf, writtenValue } from '../filterBar/filterCompletion.ts';
import type { CatalogColumn } from './experimentColumns.ts';

/** Finds the texts that may come next at the caret of a filter. Values are those of the experiments that are loaded. */
export function useExperimentCompletion(
  catalog: readonly CatalogColumn[],
  experiments: readonly Experiment[],
  text: string,
  caret: number | undefined,
): { options: Option[]; note: string } {
  return useMemo(() => {
    if (caret === undefined) return { options: [], note: '' };
    const written = writtenValue(text, caret, catalog);
    const values = written ? countedValues(experiments.flatMap((one) => valuesOf(one, written.column.id))) : [];
    return { options: optionsOf(text, caret, catalog, { values }), note: '' };
  }, [catalog, experiments, text, caret]);
}

function valuesOf(experiment: Experiment, column: string): string[] {
  if (column === 'tags') return tagsOf(experiment).map(({ key, value }) => `${key}=${value}`);
  if (column === 'dataset') return experiment.dataset?.name ? [experiment.dataset.name] : [];
  if (column === 'state' || column === 'gate') return [];
  const value = (experiment as unknown as Record<string, unknown>)[column];
  return typeof value === 'string' && !/_at$/.test(column) ? [value] : [];
}

const countedValues = (values: readonly string[]) =>
  [...Map.groupBy(values, (value) => value)]
    .map(([value, all]) => ({ value, count: all.length }))
    .sort((a, b) => b.count - a.count);
