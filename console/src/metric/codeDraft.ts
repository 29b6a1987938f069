import type { UnsavedCode } from '../data/codeMetrics.ts';
import type { Metric, MetricVersion, NewJudge } from '../data/metrics.ts';

/** Code, or a version of it, that is being written: kept in the tab until it is saved. */
export interface CodeDraft {
  name: string;
  description: string;
  code: string;
  /** Empty: the first that suits the type of its values. */
  outputType: '' | (typeof codeTypes)[number];
  direction: '' | 'higher' | 'lower';
  kinds: string[];
  /** Metrics whose values it gets. They hold for all versions. */
  required?: readonly string[] | undefined;
  /** Their ids, where they are chosen for good: one may have another name by now. */
  requiredIds?: readonly string[] | undefined;
  /** The number of the version that it was made of. */
  base?: number | undefined;
}

/** The output types that values of code may have. */
export const codeTypes = ['boolean', 'percentage', 'discrete', 'count', 'categorical', 'freeform'] as const;

export const emptyCode: CodeDraft = {
  name: '',
  description: '',
  code: "def scorer_fn(*, step_object, **kwargs) -> float:\n    return len(step_object.output or '')\n",
  outputType: '',
  direction: 'higher',
  kinds: ['trace'],
};

/** The next version of a metric as it starts: what another version says. */
export const draftOfCode = (metric: Metric, version: MetricVersion, code: string): CodeDraft => ({
  ...emptyCode,
  name: metric.name,
  code,
  kinds: [...(version.scoreable_node_types ?? [])],
  required: metric.required_scorers ?? [],
  requiredIds: metric.required_metric_ids ?? [],
  base: version.version,
});

/** The fields that all versions share. */
export const scorerOfCode = ({ name, description, outputType, direction, required }: CodeDraft): NewJudge => ({
  name: name.trim(),
  description: description.trim(),
  output_type: outputType || null,
  direction: takesDirection(outputType) ? direction || null : null,
  required_scorers: [...(required ?? [])],
});

/** Texts have none that is better. */
export const takesDirection = (type: CodeDraft['outputType']): boolean => type !== 'categorical' && type !== 'freeform';

export const unsavedOf = ({ code, kinds, required = [], requiredIds = [] }: CodeDraft): UnsavedCode => ({
  ...{ code, kinds, required, requiredIds },
});

export const isBlankCode = ({ code, kinds }: CodeDraft): boolean => code.trim() === '' || kinds.length === 0;
