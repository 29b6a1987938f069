import type { Domain } from './metricFigure.ts';
import type { TrendPoint } from './TrendLine.tsx';

/** Pixels for the numbers at the left, and around the line. */
const LEFT = 64;
const AROUND = 16;
/** Pixels of the text of a change: another that is nearer than this has none. */
const CHANGE_TEXT = 96;

/** Where everything of a trend is drawn, in pixels: every experiment has the same room, in the order given. */
export function trendShape(
  points: readonly TrendPoint[],
  { min, max }: Domain,
  { width, height }: { width: number; height: number },
) {
  const step = (width - LEFT - AROUND) / Math.max(1, points.length);
  const xOf = (index: number) => LEFT + step * (index + 0.5);
  const yOf = (value: number) => {
    const share = Math.min(1, Math.max(0, (value - min) / (max - min)));
    return AROUND + (1 - share) * (height - 2 * AROUND);
  };
  const dots = points.flatMap((point, index) => {
    const { value, interval } = point;
    if (value === null) return [];
    const whisker = interval ? { low: yOf(interval.low), high: yOf(interval.high) } : {};
    return [{ point, index, x: xOf(index), y: yOf(value), ...whisker }];
  });
  let namedUpTo = Number.NEGATIVE_INFINITY;
  const changes = points.flatMap(({ id, change }, index) => {
    if (change === undefined) return [];
    const x = xOf(index) - step / 2;
    const isNamed = x >= namedUpTo && x + CHANGE_TEXT <= width;
    if (isNamed) namedUpTo = x + CHANGE_TEXT;
    return [{ id, x, text: change, isNamed }];
  });
  const ofOneLine = Map.groupBy(dots, ({ point }) => point.line);
  return {
    left: LEFT,
    step,
    dots,
    changes,
    ticks: [min, (min + max) / 2, max].map((value) => ({ value, y: yOf(value) })),
    lines: [...ofOneLine.values()].flatMap((line) => (line.length > 1 ? [pathOf(line)] : [])),
  };
}

const pathOf = (dots: readonly { x: number; y: number }[]): string =>
  dots.map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
