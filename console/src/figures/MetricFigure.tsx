import type { MetricFigures } from '../../../client/experimentAggregates.ts';
import { countText, UNKNOWN } from '../parts/format.ts';
import styles from './figures.module.css';
import { intervalBar } from './intervalBar.tsx';
import { type Domain, expectedValues, type FigureColumn, figureSentences, unitText } from './metricFigure.ts';

interface Props {
  figures: MetricFigures | undefined;
  column: FigureColumn;
  /** Where bars begin and end; without it there is none. */
  domain?: Domain | undefined;
  /** Values that the figure is made of so far, of a run that goes on. */
  soFar?: number | undefined;
}

/**
 * A metric of an experiment: its figure, its interval as a bar, and of how many values it is. The tooltip says all that is known, and is its name for who
 * hears it: a text beside it that only they have would be laid out in hundreds of rows. It has no hooks, so that such rows may call it: as a component it
 * takes twice as long.
 */
export function MetricFigure({ figures, column, domain, soFar }: Props) {
  if (!figures)
    return (
      <span className={styles.figure}>
        <span className={styles.value}>{UNKNOWN}</span>
      </span>
    );
  const { figure, interval } = figures;
  const said = figureSentences(figures, column);
  return (
    <span role="img" className={styles.figure} title={said}>
      <span className={styles.value}>
        {figure === null ? labelsText(figures) : unitText(figure, column.unit)}
        {figures.counts?.judged_by_model_under_test && <abbr title="judged by the model that gave the answers">*</abbr>}
      </span>
      {figure !== null && domain && intervalBar({ value: figure, interval, domain })}
      {soFar === undefined ? madeOf(figures) : <span className={styles.of}>{countText(soFar)} so far</span>}
    </span>
  );
}

/** `1,317/1,319`: values there are, of those that there could be. Failures are red. */
function madeOf(figures: MetricFigures) {
  const { counts } = figures;
  const expected = expectedValues(figures);
  const values = counts?.values ?? figures.figures?.count ?? undefined;
  if (!counts || expected === undefined) return <span className={styles.of}>{countText(values)}</span>;
  const lacks = counts.failed > 0 ? 'failed' : counts.values < expected ? 'some' : undefined;
  return (
    <span className={styles.of} data-lacks={lacks}>
      {lacks === undefined ? countText(counts.values) : `${countText(counts.values)}/${countText(expected)}`}
    </span>
  );
}

/** The most frequent labels of a metric that has no one figure. */
function labelsText(figures: MetricFigures): string {
  const labels = Object.entries(figures.figures?.value_distribution ?? {});
  if (labels.length === 0) return UNKNOWN;
  return labels
    .slice(0, 3)
    .map(([label, count]) => `${label} ${countText(count)}`)
    .join(' · ');
}
