import { parseJson } from '../../../json/parseJson.ts';
import { areBooleans, shareOfTrue } from '../../../metrics/aggregate.ts';
import type { StoredMetric } from '../../../records/searchRecords.ts';
import { isExact } from '../../../wire/exactNumber.ts';
import type { MetricResult } from '../../../wire/metricResults.ts';

/** The place of a score that a caller gave and that was taken back, as its row was run again without it: nothing is known of the metric. */
export const TAKEN_BACK = "(status = 'not_computed' AND isNull(scorer_id))";

/** One row of `metric_values` as JSON. */
export interface MetricRow {
  project_id: string;
  run_id: string;
  metric: string;
  record_created_at: string;
  record_id: string;
  record_type: string;
  trace_id: string | null;
  status: string;
  number: number | null;
  text: string | null;
  texts: readonly string[];
  value: string;
  explanation: string | null;
  metadata: string;
  details: string;
  scorer_id: string | null;
  scorer_version: string;
  computed_at: string;
  version: number;
}

/** The fields of a row that a metric result gives: the value where filters and sorts look for it, the rest as JSON text. */
export function metricFields(
  result: MetricResult,
): Pick<MetricRow, 'status' | 'number' | 'text' | 'texts' | 'value' | 'explanation' | 'metadata' | 'details'> {
  const { status_type, value, explanation, metadata, ...details } = result as MetricResult & {
    value?: unknown;
    explanation?: string | null;
    metadata?: unknown;
  };
  const given = Object.entries(details).filter(([, one]) => one !== null && one !== undefined);
  return {
    status: status_type,
    number: numberOf(value),
    text: typeof value === 'string' ? value : null,
    texts: Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : [],
    value: value === undefined || value === null ? '' : JSON.stringify(value),
    explanation: explanation ?? null,
    metadata: metadata ? JSON.stringify(metadata) : '',
    details: given.length > 0 ? JSON.stringify(Object.fromEntries(given)) : '',
  };
}

function numberOf(value: unknown): number | null {
  if (typeof value === 'number' || typeof value === 'boolean' || isExact(value)) return Number(value);
  return areBooleans(value) ? shareOfTrue(value) : null;
}

/** The metric result of a row; its metadata apart, as it is sent only when asked for. */
export function metricOfRow(row: unknown): StoredMetric & { recordId: string } {
  const { record_id, metric, status, value, explanation, metadata, details, scorer_id: scorerId } = row as MetricRow;
  const hasValue = status === 'success' || status === 'roll_up';
  const result = {
    status_type: status,
    ...(details === '' ? {} : (parseJson(details) as object)),
    ...(hasValue ? { value: value === '' ? null : parseJson(value), explanation } : {}),
  } as MetricResult;
  return {
    ...{
      recordId: record_id,
      metric,
      result,
      metadata: metadata === '' ? null : (parseJson(metadata) as StoredMetric['metadata']),
    },
    ...(scorerId ? { scorerId } : {}),
  };
}
