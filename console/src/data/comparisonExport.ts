import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import { type Comparison, type ExperimentComparison, type RowsQuestion, rowsPage } from './comparison.ts';
import { saveFile } from './exports.ts';

/** Rows of one request: texts are whole here. */
const ROWS = 50;

/** Saves the comparison as the service gave it, or a line for each experiment and metric. */
export function saveComparison(reply: ExperimentComparison, format: 'json' | 'csv'): void {
  if (format === 'json') saveFile([jsonWithBigInts(reply, undefined, 2)], 'comparison.json');
  else saveFile(['\uFEFF', csv(verdictLines(reply))], 'comparison.csv');
}

function verdictLines(reply: ExperimentComparison): Record<string, unknown>[] {
  const names = new Map(reply.experiments.map(({ id, name }) => [id, name]));
  return reply.comparisons.map((one: Comparison) => {
    const { experiment_id, interval, slice: _slice, table: _table, warnings, ...figures } = one;
    const experiment = { baseline: reply.baseline.name, experiment: names.get(experiment_id), experiment_id };
    const bounds = { interval_low: interval?.low, interval_high: interval?.high, interval_level: interval?.level };
    return { ...experiment, ...figures, ...bounds, warnings: warnings.join('; ') };
  });
}

/** Saves the rows that fit, whole, in the order of the list: a line of JSON each as the service gives them, or a line for each trial. */
export async function saveRows(question: RowsQuestion, format: 'jsonl' | 'csv', signal: AbortSignal): Promise<void> {
  const pieces: string[] = [];
  const table: Record<string, unknown>[] = [];
  for (let token: number | null = 0; token !== null; ) {
    const page = await rowsPage(question, { starting_token: token, limit: ROWS }, signal);
    if (format === 'jsonl') pieces.push(...page.rows.map((row) => `${jsonWithBigInts(row)}\n`));
    else table.push(...page.rows.flatMap(linesOfRow));
    token = page.next_starting_token;
  }
  saveFile(format === 'jsonl' ? pieces : ['\uFEFF', csv(table)], `compared rows.${format}`);
}

type Row = Awaited<ReturnType<typeof rowsPage>>['rows'][number];

function linesOfRow({ baseline, experiment, ...row }: Row): Record<string, unknown>[] {
  const side = (name: string, trace: Row['baseline'][number] | undefined) => ({
    ...{ [`${name}_trace_id`]: trace?.trace_id, [`${name}_output`]: trace?.output, [`${name}_error`]: trace?.error_message },
    ...{ [`${name}_duration_ns`]: trace?.duration_ns, [`${name}_cost`]: trace?.cost },
    ...Object.fromEntries(Object.entries(trace?.scores ?? {}).map(([metric, { value }]) => [`${name}_${metric}`, value])),
  });
  return Array.from({ length: Math.max(baseline.length, experiment.length) }, (_, trial) => ({
    ...row,
    ...side('baseline', baseline[trial]),
    ...side('experiment', experiment[trial]),
  }));
}

/** CSV with the keys of all rows as columns. A text that a spreadsheet would run as a formula begins with `'`. */
function csv(rows: readonly Record<string, unknown>[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) => columns.map((column) => cell(row[column])).join(','));
  return [columns.map(cell).join(','), ...lines, ''].join('\r\n');
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : jsonWithBigInts(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
