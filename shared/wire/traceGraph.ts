import { z } from 'zod';
import { Uuid } from './common.ts';
import { FilterExpression, FilterList } from './filters.ts';
import { RunSelector, StepType } from './recordSearch.ts';

export const AggregatedTraceViewRequest = z
  .object({ ...RunSelector, filters: FilterList.optional(), filter_tree: FilterExpression.nullish() })
  .meta({ id: 'AggregatedTraceViewRequest' });

const Histogram = z
  .object({
    strategy: z.enum(['fixed', 'trimmed', 'quantile']),
    edges: z.array(z.number()),
    buckets: z.array(z.object({ lower: z.number(), upper: z.number(), count: z.int() }).meta({ id: 'HistogramBucket' })),
    total: z.int(),
  })
  .meta({ id: 'Histogram' });
export type Histogram = z.output<typeof Histogram>;

const NodeMetric = z.discriminatedUnion('aggregation_type', [
  z
    .object({
      aggregation_type: z.literal('numeric'),
      name: z.string(),
      label: z.string(),
      unit: z.string().nullable(),
      ...{ mean: z.number(), median: z.number(), min: z.number(), max: z.number() },
      ...{ p5: z.number(), p25: z.number(), p75: z.number(), p95: z.number() },
      histogram: Histogram,
    })
    .meta({ id: 'SystemMetricInfo' }),
  z
    .object({
      aggregation_type: z.literal('categorical'),
      name: z.string(),
      label: z.string(),
      category_counts: z.record(z.string(), z.int()),
    })
    .meta({ id: 'CategoricalMetricInfo' }),
]);
export type NodeMetric = z.output<typeof NodeMetric>;

const InsightSummary = z
  .object({
    id: Uuid,
    title: z.string(),
    observation: z.string(),
    details: z.string(),
    suggested_action: z.string(),
    priority: z.int(),
    priority_category: z.enum(['error', 'warning', 'info']).nullish(),
  })
  .meta({ id: 'InsightSummary' });

const Node = z
  .object({
    id: z.string(),
    name: z.string().nullable(),
    type: StepType,
    occurrences: z.int(),
    parent_id: z.string().nullable(),
    has_children: z.boolean(),
    metrics: z.record(z.string(), NodeMetric),
    trace_count: z.int(),
    /** Share of the traces in which the node comes. */
    weight: z.number(),
    insights: z.array(InsightSummary),
  })
  .meta({ id: 'AggregatedTraceViewNode' });
export type GraphNode = z.output<typeof Node>;

const Edge = z
  .object({
    source: z.string(),
    target: z.string(),
    /** Share of the traces in which the edge comes. */
    weight: z.number(),
    occurrences: z.int(),
    trace_count: z.int(),
    trace_ids: z.array(Uuid),
  })
  .meta({ id: 'AggregatedTraceViewEdge' });
export type GraphEdge = z.output<typeof Edge>;

export const AggregatedTraceViewResponse = z
  .object({
    graph: z
      .object({ nodes: z.array(Node), edges: z.array(Edge), edge_occurrences_histogram: Histogram.nullable() })
      .meta({ id: 'AggregatedTraceViewGraph' }),
    num_traces: z.int(),
    num_sessions: z.int(),
    start_time: z.string().nullable(),
    end_time: z.string().nullable(),
    has_all_traces: z.boolean(),
  })
  .meta({ id: 'AggregatedTraceViewResponse' });
export type AggregatedTraceView = z.output<typeof AggregatedTraceViewResponse>;
