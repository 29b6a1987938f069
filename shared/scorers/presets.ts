import type { ColumnDef } from '../columns/columnDef.ts';
import { foldCase } from '../identifiers/foldCase.ts';
import { derivedId } from '../identifiers/ids.ts';
import { builtinMetrics } from '../metrics/index.ts';
import type { Metric } from '../metrics/metric.ts';
import { metricColumn } from '../metrics/metricColumn.ts';
import { otherNames } from '../metrics/otherNames.ts';
import { modelTypeOf } from './modelType.ts';
import type { Scorer } from './scorer.ts';

/** The same id in every installation and release, so that settings of a run can name a built-in metric. */
const presetId = (metric: Metric): string => derivedId('built-in scorer', metric.name);

const byId = new Map(builtinMetrics.map((metric) => [presetId(metric), metric]));
const byKey = new Map(
  builtinMetrics.flatMap((metric) => [metric.label, metric.name].map((key) => [foldCase(key), metric] as const)),
);

/** Built-in metrics as the scorers that clients look for by label or wire name. */
export const presets: readonly Scorer[] = [...byId].map(([id, metric]) => ({
  id,
  name: metric.name,
  scorerType: 'preset',
  definition: {
    label: metric.label,
    description: metric.description,
    tags: [metric.groupLabel],
    model_type: modelTypeOf(metric),
    output_type: metric.outputType,
    scoreable_node_types: [...metric.kinds],
    roll_up_method: metric.rollUp,
    ground_truth: metric.needsReference,
    direction: metric.direction,
    range: metric.range,
    is_global: true,
    ...(metric.multimodal ? { multimodal_capabilities: [metric.multimodal] } : {}),
    ...(metric.needs === 'judge' ? { defaults: { num_judges: 1, cot_enabled: true } } : {}),
  },
  scopeProjects: [],
  defaultVersion: null,
  latestVersion: null,
  createdBy: null,
  createdAt: null,
  updatedAt: null,
  deleted: false,
}));

export const presetById = (id: string): Scorer | undefined => presets.find((preset) => preset.id === id);

export const builtinById = (scorerId: string): Metric | undefined => byId.get(scorerId);

const idByName = new Map([...byId].map(([id, metric]) => [metric.name, id]));

/** The scorer's id of the built-in metric with exactly this wire name. */
export const builtinIdOf = (name: string): string | undefined => idByName.get(name);

/** Columns of the built-in metrics. */
export const builtinColumns: readonly ColumnDef[] = [...byId].map(([scorerId, metric]) => ({
  ...metricColumn(metric),
  scorerId,
}));

interface Builtin {
  scorerId: string;
  metric: Metric;
}

/** The built-in metric with this wire name or label, in any case. */
export const builtinByName = (nameOrLabel: string): Builtin | undefined => {
  const metric = byKey.get(foldCase(nameOrLabel.trim()));
  return metric && { scorerId: presetId(metric), metric };
};

const byOtherName = new Map(Object.entries(otherNames).map(([other, name]) => [foldCase(other), name]));

/**
 * The built-in metric that clients know by this key or name of an older release. Users may have given such a name to a scorer of theirs, which comes
 * first.
 */
export function builtinByOtherName(name: string): Builtin | undefined {
  const given = name.trim();
  const key = given.includes(' ') ? given : given.replace(/(?<=[a-z\d])[A-Z]/g, (capital) => `_${capital}`);
  const found = byOtherName.get(foldCase(given)) ?? byOtherName.get(foldCase(key)) ?? key;
  return builtinByName(found);
}
