import type { CSSProperties } from 'react';
import styles from './figures.module.css';
import type { Domain } from './metricFigure.ts';

interface Props {
  value: number;
  interval: { low: number; high: number } | null;
  domain: Domain;
}

const WIDTH = 56;
const DOT = 2.5;

/** Returns a figure as a dot on the line of its interval. It says nothing by itself: what is beside it has the numbers. */
export function intervalBar({ value, interval, domain: { min, max } }: Props) {
  const at = (number: number) => DOT + Math.min(1, Math.max(0, (number - min) / (max - min))) * (WIDTH - 2 * DOT);
  const [low, high] = interval ? [at(interval.low), at(interval.high)] : [0, 0];
  // One element with pictures of its style: a table has hundreds of them.
  const style = { '--at': `${at(value)}px`, '--low': `${low}px`, '--wide': `${high - low}px` };
  return <span className={styles.bar} style={style as CSSProperties} aria-hidden="true" />;
}
