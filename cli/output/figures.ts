/** A figure with as many digits as say something. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 1_000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
}

export const dollars = (usd: number): string => `$${usd >= 1 ? usd.toFixed(2) : Number(usd.toPrecision(2))}`;

/** `42 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${ms < 9_950 ? (ms / 1_000).toFixed(1) : seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
