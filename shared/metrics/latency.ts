import type { Metric } from './metric.ts';

export const latency: Metric = {
  name: 'latency',
  label: 'Latency',
  description: 'How long the record took, in milliseconds.',
  groupLabel: 'System Metrics',
  dataType: 'floating_point',
  dataUnit: 'milli_seconds',
  outputType: 'count',
  rollUp: 'average',
  threshold: null,
  direction: 'lower',
  range: null,
  kinds: ['trace'],
  needs: 'code',
  needsReference: false,
  score: ({ durationNs }) =>
    durationNs === null ? { notApplicable: 'the record has no duration' } : { value: durationNs / 1e6 },
};
