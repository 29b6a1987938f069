import { dollars, figureText } from '../../shared/figures/figureText.ts';
import { errorOf } from '../../shared/records/failed.ts';

/** A trace, or a span of one, as far as it is shown. */
export interface TreeRecord {
  id: string;
  type: string;
  name?: string | null;
  status_code?: number | null;
  error_message?: string | null;
  metrics?: Record<string, unknown> | null;
  metric_info?: Record<string, MetricInfo> | null;
  spans?: TreeRecord[] | null;
}

interface MetricInfo {
  status_type: string;
  value?: unknown;
  message?: string | null;
  metric_key_alias?: string | null;
}

/** Names of the metrics of a record that are no scores. */
const measured = /^(?:num_\w*tokens|cost|\w+_cost|duration_ns|\w+_ns)$/;

/** A line for each record, what lies in it below it, and below each line its error and scores. */
export function traceTree(trace: TreeRecord, markedId?: string): string[] {
  const below = (records: readonly TreeRecord[], indent: string): string[] =>
    records.flatMap((record, index) => {
      const isLast = index === records.length - 1;
      return linesOf(record, `${indent}${isLast ? '└─ ' : '├─ '}`, `${indent}${isLast ? '   ' : '│  '}`);
    });
  const linesOf = (record: TreeRecord, first: string, rest: string): string[] => {
    const spans = record.spans ?? [];
    const detail = `${rest}${spans.length > 0 ? '│  ' : '   '}`;
    return [
      `${first}${headOf(record)}${record.id === markedId ? '  ◀ this one' : ''}`,
      ...detailsOf(record).map((line) => `${detail}${line}`),
      ...below(spans, rest),
    ];
  };
  return linesOf(trace, '', '');
}

function headOf({ type, name, metrics, status_code: status }: TreeRecord): string {
  const figure = (key: string): number | undefined => {
    const value = metrics?.[key];
    return typeof value === 'number' ? value : undefined;
  };
  const [took, tokens, cost] = [figure('duration_ns'), figure('num_total_tokens') ?? sumOf(figure), figure('cost')];
  return [
    `${type}${name ? ` ${name}` : ''}`,
    ...(took === undefined ? [] : [figureText(took, 'nano_seconds')]),
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    ...(cost === undefined ? [] : [dollars(cost)]),
    ...(status ? [`status ${status}`] : []),
  ].join('  ');
}

/** Adds the figures of input and output, where both are known. */
function sumOf(figure: (key: string) => number | undefined): number | undefined {
  const [input, output] = [figure('num_input_tokens'), figure('num_output_tokens')];
  return input === undefined || output === undefined ? undefined : input + output;
}

function detailsOf(record: TreeRecord): string[] {
  const error = record.error_message ? errorOf(record) : undefined;
  const scores = [...scoresOf(record)].map(([name, text]) => `${name} ${text}`);
  return [...(error === undefined ? [] : [`error: ${error}`]), ...(scores.length > 0 ? [`scores: ${scores.join(', ')}`] : [])];
}

/** By the name of the metric, what it came to. */
function scoresOf({ metrics, metric_info: info }: TreeRecord): Map<string, string> {
  const scores = new Map<string, string>();
  const logged = Object.entries(metrics ?? {}).filter(
    ([key, value]) => !measured.test(key) && value !== null && typeof value !== 'object',
  );
  const known = Object.entries(info ?? {}).filter(([key]) => !measured.test(key));
  const keysInInfo = new Set(known.map(([key]) => key));
  for (const [key, value] of logged) if (!keysInInfo.has(key)) scores.set(key, textOf(value));
  for (const [key, { status_type: state, value, message, metric_key_alias: alias }] of known) {
    const name = alias ?? key;
    if (state === 'success' || state === 'roll_up') scores.set(name, textOf(value));
    else if (!scores.has(name))
      scores.set(name, message ? `${state.replaceAll('_', ' ')} (${message})` : state.replaceAll('_', ' '));
  }
  return scores;
}

const textOf = (value: unknown): string =>
  typeof value === 'number' ? figureText(value, null) : typeof value === 'string' ? value : JSON.stringify(value);
