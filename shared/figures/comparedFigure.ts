import type { FigureUnit } from './figureText.ts';

export type ComparedUnit = Exclude<FigureUnit, 'count_and_total'>;

/** The scale of a metric's values. */
interface Scale {
  type: 'boolean' | 'number' | 'category' | null;
  unit: ComparedUnit;
}

/** How values and differences of a metric are written where experiments are compared: shares with a tenth of a point, differences with their sign. */
export function comparedFigure({ type, unit }: Scale): { value(value: number): string; difference(value: number): string } {
  const plain = (value: number): string =>
    Math.abs(value) >= 100 ? String(Math.round(value * 10) / 10) : String(Number(value.toPrecision(3)));
  const signed = (value: number, text: string): string => (value < 0 ? text : `+${text}`);
  if (unit === 'percentage' || type === 'boolean')
    return {
      value: (value) => `${(100 * value).toFixed(1)} %`,
      difference: (value) => `${signed(value, (100 * value).toFixed(1))} points`,
    };
  const withUnit = (value: number): string => {
    if (unit === 'dollars') return `${value < 0 ? '-' : ''}$${plain(Math.abs(value))}`;
    if (unit === 'milli_seconds') return `${plain(value)} ms`;
    if (unit === 'nano_seconds') return Math.abs(value) >= 1e9 ? `${plain(value / 1e9)} s` : `${plain(value / 1e6)} ms`;
    return plain(value);
  };
  return { value: withUnit, difference: (value) => signed(value, withUnit(value)) };
}

/** A p-value as people read it: never smaller than what a sample can show. */
export const pText = (p: number): string => (p < 0.001 ? '< 0.001' : p.toFixed(p < 0.1 ? 3 : 2));
