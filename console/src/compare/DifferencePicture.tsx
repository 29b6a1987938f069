import { comparedFigure } from '../../../shared/figures/comparedFigure.ts';
import type { Comparison } from '../data/comparison.ts';
import styles from './DifferencePicture.module.css';
import { differenceTexts, shapeOf, verdictOf } from './verdict.ts';

const percent = (place: number): string => `${50 + 48 * place}%`;

/** A difference as a dot on its interval, the line of no effect, and around that what so many rows would mostly not find. Better is right. */
export function DifferencePicture({ comparison, limit }: { comparison: Comparison; limit: number }) {
  const shape = shapeOf(comparison, limit);
  const { difference, interval } = differenceTexts(comparison);
  if (!shape) return <span className="quiet">–</span>;
  const { detectable } = comparison;
  const reach =
    detectable === null ? '' : `; below ${comparedFigure(comparison).difference(detectable).replace('+', '')} mostly not found`;
  return (
    <svg className={styles.picture} role="img" aria-label={`Difference ${difference}, interval ${interval}${reach}`}>
      {shape.detectable !== undefined && (
        <rect
          className={styles.detectable}
          x={percent(-shape.detectable)}
          width={`${96 * shape.detectable}%`}
          y="2"
          height="20"
          rx="2"
        />
      )}
      <line className={styles.none} x1="50%" x2="50%" y1="0" y2="24" />
      <g data-tone={verdictOf(comparison).tone}>
        <line className={styles.interval} x1={percent(shape.low)} x2={percent(shape.high)} y1="12" y2="12" />
        {[shape.low, shape.high].map((end) => (
          <line key={end} className={styles.end} x1={percent(end)} x2={percent(end)} y1="8" y2="16" />
        ))}
        <circle cx={percent(shape.at)} cy="12" r="4" />
      </g>
    </svg>
  );
}
