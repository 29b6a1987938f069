import { noScale, UNIT_RANGE } from '../wire/metricScale.ts';
import type { Metric } from './metric.ts';

/** The parts that all metrics of one kind share, so that each file says only what is its own. */
type Common = Pick<
  Metric,
  | 'groupLabel'
  | 'dataType'
  | 'dataUnit'
  | 'outputType'
  | 'rollUp'
  | 'threshold'
  | 'direction'
  | 'range'
  | 'kinds'
  | 'needs'
  | 'needsReference'
  | 'readsSpans'
  | 'needsParts'
>;

/** Right or wrong against the dataset row's reference output. Scored on the trace, so that a row has one value whatever spans it has. */
export const REFERENCE: Common = {
  groupLabel: 'Reference Metrics',
  dataType: 'boolean',
  dataUnit: null,
  outputType: 'boolean',
  rollUp: 'percentage_true',
  threshold: null,
  direction: 'higher',
  range: UNIT_RANGE,
  kinds: ['trace'],
  needs: 'code',
  needsReference: true,
};

/** How near the output comes to the reference output: a fraction in [0, 1]. */
export const SIMILARITY: Common = {
  ...REFERENCE,
  dataType: 'floating_point',
  dataUnit: 'percentage',
  outputType: 'percentage',
  rollUp: 'average',
  threshold: { buckets: [0.4, 0.8], displayValueLevels: ['Low', 'Medium', 'High'] },
};

/** Tokens that the model calls of a record used. */
export const TOKENS: Common = {
  groupLabel: 'System Metrics',
  dataType: 'integer',
  dataUnit: null,
  outputType: 'count',
  rollUp: 'sum',
  threshold: null,
  direction: 'lower',
  range: null,
  kinds: ['trace'],
  needs: 'code',
  readsSpans: true,
  needsReference: false,
};

/** A yes/no question put to a judge; yes is good. */
export const JUDGED_QUALITY: Common = {
  groupLabel: 'Response Quality Metrics',
  dataType: 'boolean',
  dataUnit: null,
  outputType: 'boolean',
  rollUp: 'percentage_true',
  threshold: null,
  direction: 'higher',
  range: UNIT_RANGE,
  kinds: ['trace'],
  needs: 'judge',
  needsReference: false,
};

/** A yes/no question about what an agent did, step by step; yes is good. */
export const JUDGED_AGENT: Common = { ...JUDGED_QUALITY, groupLabel: 'Agentic Metrics', readsSpans: true, needsParts: ['steps'] };

/** A yes/no question about SQL that a model wrote; yes is good. */
export const JUDGED_SQL: Common = { ...JUDGED_QUALITY, groupLabel: 'SQL Metrics' };

/** How good what was retrieved is: a fraction in [0, 1] that is made of a judge's word on each document. */
export const JUDGED_RETRIEVAL: Common = {
  ...JUDGED_QUALITY,
  groupLabel: 'Retrieval Metrics',
  dataType: 'floating_point',
  dataUnit: 'percentage',
  outputType: 'percentage',
  rollUp: 'average',
  threshold: { buckets: [0.4, 0.8], displayValueLevels: ['Low', 'Medium', 'High'] },
  readsSpans: true,
  needsParts: ['context'],
};

/** A harm rated by a judge as a fraction in [0, 1]; lower is better. */
export const JUDGED_HARM: Common = {
  groupLabel: 'Safety Metrics',
  dataType: 'floating_point',
  dataUnit: 'percentage',
  outputType: 'percentage',
  rollUp: 'average',
  threshold: { buckets: [0.2, 0.6], displayValueLevels: ['Low', 'Medium', 'High'] },
  direction: 'lower',
  range: UNIT_RANGE,
  kinds: ['trace'],
  needs: 'judge',
  needsReference: false,
};

/** A harm that a judge finds or does not find. */
export const JUDGED_ALARM: Common = { ...JUDGED_QUALITY, groupLabel: 'Safety Metrics', direction: 'lower' };

/** Labels given by a judge. */
export const JUDGED_LABEL: Common = {
  ...JUDGED_QUALITY,
  ...noScale,
  groupLabel: 'Expression and Style Metrics',
  dataType: 'text',
  outputType: 'categorical',
  rollUp: 'category_count',
};
