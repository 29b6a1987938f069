import type { ExperimentColumn } from '../../shared/wire/experiments.ts';

/** A figure as people read it: a share as a percentage, times in milliseconds or seconds, money in dollars. */
export function figureText(value: number | null | undefined, unit: ExperimentColumn['data_unit']): string {
  if (value === null || value === undefined) return '–';
  switch (unit) {
    case 'percentage':
      return `${rounded(100 * value)} %`;
    case 'nano_seconds':
      return milliseconds(value / 1e6);
    case 'milli_seconds':
      return milliseconds(value);
    case 'dollars':
      return `$${rounded(value)}`;
    default:
      return rounded(value);
  }
}

const milliseconds = (ms: number): string => (ms >= 10_000 ? `${rounded(ms / 1_000)} s` : `${rounded(ms)} ms`);

/** Four digits that count; whole numbers in full. */
const rounded = (value: number): string => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4))));
