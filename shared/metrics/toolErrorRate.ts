import { UNIT_RANGE } from '../wire/metricScale.ts';
import type { Metric } from './metric.ts';

export const toolErrorRate: Metric = {
  name: 'tool_error_rate',
  label: 'Tool Error Rate',
  description: 'Share of the tool calls of the record that ended in an error.',
  groupLabel: 'Agentic Metrics',
  dataType: 'floating_point',
  dataUnit: 'percentage',
  outputType: 'percentage',
  rollUp: 'average',
  threshold: { buckets: [0.1, 0.5], displayValueLevels: ['Low', 'Medium', 'High'] },
  direction: 'lower',
  range: UNIT_RANGE,
  kinds: ['trace'],
  needs: 'code',
  readsSpans: true,
  needsReference: false,
  needsParts: ['tool_calls'],
  score(record) {
    const calls = record.kind === 'tool' ? [record] : (record.spans ?? []).filter((span) => span.kind === 'tool');
    if (calls.length === 0) return { notApplicable: 'no tool was called' };
    const failed = calls.filter((call) => call.errorMessage !== null && call.errorMessage !== '');
    return { value: failed.length / calls.length, explanation: `${failed.length} of ${calls.length} tool calls failed` };
  },
};
