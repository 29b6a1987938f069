/** Unit of a figure, as the columns of experiments say it. Null: the figure has none. */
export type FigureUnit = 'percentage' | 'nano_seconds' | 'milli_seconds' | 'dollars' | 'count_and_total' | null;

/** A figure as people read it: a share as a percentage, times in milliseconds or seconds, money in dollars. */
export function figureText(value: number | null | undefined, unit: FigureUnit): string {
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

/** Four digits that count; what is before the point is never rounded away. */
const rounded = (value: number): string => {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 1_000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
};

/** A sum of money that is still growing: with the digits that say something. */
export const dollars = (usd: number): string => `$${usd >= 1 ? usd.toFixed(2) : Number(usd.toPrecision(2))}`;

/** How long something takes: `9.5 s`, `42 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${ms < 9_950 ? (ms / 1_000).toFixed(1) : seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
