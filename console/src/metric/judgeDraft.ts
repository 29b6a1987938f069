import type { z } from 'zod';
import type { ChainPollTemplate } from '../../../shared/wire/scorers.ts';
import type { UnsavedJudge } from '../data/judgeTryOut.ts';
import type { Metric, MetricVersion, NewJudge, NewJudgeVersion } from '../data/metrics.ts';
import type { RecordKind } from '../data/records.ts';
import { outputWords } from '../metrics/metricText.ts';

export type JudgedType = keyof typeof outputWords;
type Capability = NonNullable<Metric['multimodal_capabilities']>[number];
export const judgedTypes = Object.keys(outputWords) as JudgedType[];

/** A judge, or a version of one, that is being written: kept in the tab until it is saved. */
export interface JudgeDraft {
  name: string;
  description: string;
  prompt: string;
  /** Several models that judge in turn have commas between them; empty: whichever judges where none is named. */
  models: string;
  outputType: JudgedType;
  /** One label a line. */
  labels: string;
  min: string;
  max: string;
  direction: '' | 'higher' | 'lower';
  kinds: string[];
  judges: number;
  explains: boolean;
  /** `vision` of one that is shown the images of a record. */
  capabilities?: readonly Capability[] | undefined;
  /** Metrics whose values it is shown. They hold for all versions. */
  required?: readonly string[] | undefined;
  /** Their ids, where they are chosen for good: one may have another name by now. */
  requiredIds?: readonly string[] | undefined;
  /** Parts beside the prompt of the version that it was made of, such as examples. */
  template?: z.output<typeof ChainPollTemplate> | null | undefined;
  inputType?: MetricVersion['input_type'];
  /** The number of that version. */
  base?: number | undefined;
}

export const emptyJudge: JudgeDraft = {
  name: '',
  description: '',
  prompt: '',
  models: '',
  outputType: 'boolean',
  labels: '',
  min: '1',
  max: '5',
  direction: 'higher',
  kinds: ['trace'],
  judges: 1,
  explains: true,
};

export const promptOf = ({ generated_scorer: judge }: Pick<MetricVersion, 'generated_scorer'>): string =>
  judge?.user_prompt ?? judge?.chain_poll_template.template ?? '';

/** The next version of a judge as it starts: what another version says. */
export function draftOf(metric: Metric, version: MetricVersion): JudgeDraft {
  const type = judgedTypes.find((one) => one === version.output_type) ?? 'boolean';
  return {
    name: metric.name,
    description: metric.description ?? '',
    prompt: promptOf(version),
    models: version.model_names?.join(', ') ?? version.model_name ?? '',
    outputType: type,
    labels: metric.categories?.join('\n') ?? '',
    min: takesRange(type) ? String(metric.range?.min ?? '') : '1',
    max: takesRange(type) ? String(metric.range?.max ?? '') : '5',
    direction: metric.direction ?? '',
    kinds: [...(version.scoreable_node_types ?? [])],
    judges: version.num_judges ?? 1,
    explains: version.cot_enabled ?? true,
    capabilities: metric.multimodal_capabilities ?? [],
    required: metric.required_scorers ?? [],
    requiredIds: metric.required_metric_ids ?? [],
    template: version.chain_poll_template,
    inputType: version.input_type,
    base: version.version,
  };
}

export const takesLabels = (type: JudgedType): boolean => ['categorical', 'multilabel', 'boolean_multilabel'].includes(type);
export const takesRange = (type: JudgedType): boolean => type === 'discrete' || type === 'count';
export const takesDirection = (type: JudgedType): boolean => !takesLabels(type) && type !== 'freeform';

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

const labelsOf = ({ outputType, labels }: JudgeDraft) =>
  takesLabels(outputType) && lines(labels).length > 0 ? lines(labels) : null;
const rangeOf = ({ outputType, min, max }: JudgeDraft) =>
  takesRange(outputType) && min !== '' && max !== '' ? { min: Number(min), max: Number(max) } : null;
const modelsOf = ({ models }: JudgeDraft): string[] =>
  models
    .split(',')
    .map((model) => model.trim())
    .filter(Boolean);

/** The metrics whose values it is shown, which stay as they are when it is created. */
export const requiredOf = ({ required }: JudgeDraft): string[] => [...(required ?? [])];

/** The fields that all versions of the judge share, and that can be changed. */
export const scorerOf = (draft: JudgeDraft): Omit<NewJudge, 'name'> => ({
  description: draft.description.trim(),
  output_type: draft.outputType,
  direction: takesDirection(draft.outputType) ? draft.direction || null : null,
  range: rangeOf(draft),
  categories: labelsOf(draft),
  scoreable_node_types: draft.kinds,
  multimodal_capabilities: capabilitiesOf(draft),
});

export const seesImages = ({ capabilities }: JudgeDraft): boolean => capabilities?.includes('vision') ?? false;

/** The draft as it is with sight, or without. */
export const withSight = ({ capabilities = [] }: JudgeDraft, sees: boolean): Pick<JudgeDraft, 'capabilities'> => ({
  capabilities: [...capabilities.filter((one) => one !== 'vision'), ...(sees ? (['vision'] as const) : [])],
});

const capabilitiesOf = ({ capabilities }: JudgeDraft): Capability[] => [...(capabilities ?? [])];

const templateOf = ({ template, prompt }: JudgeDraft) => ({ ...template, template: prompt });

export function versionOf(draft: JudgeDraft): NewJudgeVersion {
  const models = modelsOf(draft);
  return {
    user_prompt: draft.prompt,
    ...(draft.template ? { chain_poll_template: templateOf(draft) } : {}),
    ...(models.length > 1 ? { model_names: models } : { model_name: models[0] ?? null }),
    num_judges: draft.judges,
    scoreable_node_types: draft.kinds,
    cot_enabled: draft.explains,
    output_type: draft.outputType,
    input_type: draft.inputType ?? null,
  };
}

/** The same for a try-out, which asks one model. */
export const unsavedOf = (draft: JudgeDraft): UnsavedJudge => ({
  user_prompt: draft.prompt,
  chain_poll_template: templateOf(draft),
  scorer_configuration: {
    model_alias: modelsOf(draft)[0] ?? null,
    num_judges: draft.judges,
    output_type: draft.outputType,
    scoreable_node_types: draft.kinds,
    cot_enabled: draft.explains,
    input_type: draft.inputType ?? null,
    range: rangeOf(draft),
    categories: labelsOf(draft),
    required_scorers: requiredOf(draft),
    required_metric_ids: [...(draft.requiredIds ?? [])],
    multimodal_capabilities: capabilitiesOf(draft),
  },
});

/** The table in which records of these kinds are, of the first that there is. */
export const kindOfRecords = (kinds: readonly string[]): RecordKind =>
  kinds.includes('trace') ? 'traces' : kinds.includes('session') ? 'sessions' : 'spans';
