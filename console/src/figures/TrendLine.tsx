import { type ReactNode, useRef, useState } from 'react';
import { useWidth } from '../parts/useWidth.ts';
import styles from './figures.module.css';
import { type Domain, type FigureColumn, unitText } from './metricFigure.ts';
import { trendShape } from './trendShape.ts';

/** One experiment of a trend. */
export interface TrendPoint {
  id: string;
  /** Null where it has no figure: nothing is drawn of it. */
  value: number | null;
  interval: { low: number; high: number } | null;
  /** Experiments of one line; others have lines of their own. */
  line: string;
  /** A baseline has a ring, one that failed its gate is red. */
  mark: 'baseline' | 'failed' | undefined;
  /** The change since the one before, as `deploy 14`: a dashed line with this text. */
  change: string | undefined;
  /** Names the experiment and its time in a sentence. */
  said: string;
}

interface Props {
  label: string;
  points: readonly TrendPoint[];
  column: FigureColumn;
  domain: Domain;
  /** Makes a link of what is drawn for an experiment. */
  link(point: TrendPoint, drawn: ReactNode, events: { onFocus(): void; onPointerEnter(): void; 'aria-label': string }): ReactNode;
}

const HEIGHT = 120;

/** The figures of a metric from one experiment to the next, oldest first, with intervals, baselines, failed gates and what changed in between. */
export function TrendLine({ label, points, column, domain, link }: Props) {
  const box = useRef<HTMLElement>(null);
  const width = useWidth(box);
  const [chosen, setChosen] = useState<string>();
  const shape = trendShape(points, domain, { width, height: HEIGHT });
  const at = points.find(({ id }) => id === chosen) ?? points.at(-1);
  const sentenceOf = ({ said, value, interval, mark, change }: TrendPoint) =>
    [
      said,
      unitText(value, column.unit),
      interval && `${unitText(interval.low, column.unit)} to ${unitText(interval.high, column.unit)}`,
      mark === 'baseline' ? 'baseline' : mark === 'failed' && 'failed its gate',
      change,
    ]
      .filter((part) => part)
      .join(' · ');
  return (
    <figure className={styles.trend} ref={box} aria-label={label} style={{ margin: 0 }}>
      {width > 0 && (
        <svg height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="group" aria-label={label}>
          {shape.ticks.map(({ y, value }) => (
            <g key={y}>
              <line className={styles.grid} x1={shape.left} x2={width} y1={y} y2={y} />
              <text x={shape.left - 8} y={y + 4} textAnchor="end">
                {unitText(value, column.unit)}
              </text>
            </g>
          ))}
          {shape.changes.map(({ x, text, id, isNamed }) => (
            <g key={id}>
              <line className={styles.deploy} x1={x} x2={x} y1={0} y2={HEIGHT} />
              {isNamed && (
                <text x={x + 4} y={10}>
                  {text}
                </text>
              )}
            </g>
          ))}
          {shape.lines.map((path) => (
            <path key={path} className={styles.line} d={path} />
          ))}
          {shape.dots.map(({ point, x, y, low, high }) =>
            link(
              point,
              <>
                {low !== undefined && <line className={styles.whisker} x1={x} x2={x} y1={low} y2={high} />}
                {point.mark === 'baseline' && <circle className={styles.baseline} cx={x} cy={y} r={7} />}
                <circle className={styles.point} data-mark={point.mark} cx={x} cy={y} r={4} />
                <rect className={styles.hit} x={x - shape.step / 2} y={0} width={shape.step} height={HEIGHT} />
              </>,
              {
                onFocus: () => setChosen(point.id),
                onPointerEnter: () => setChosen(point.id),
                'aria-label': sentenceOf(point),
              },
            ),
          )}
        </svg>
      )}
      <figcaption className={styles.said}>{at && sentenceOf(at)}</figcaption>
    </figure>
  );
}
