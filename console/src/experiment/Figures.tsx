import { useQuery } from '@tanstack/react-query';
import { gapsText } from '../../../shared/figures/gapsText.ts';
import type { ExperimentRef, LiveProgress } from '../data/experiment.ts';
import { type Experiment, experimentColumnsQuery } from '../data/experiments.ts';
import { MetricFigure } from '../figures/MetricFigure.tsx';
import { domainOf, unitText } from '../figures/metricFigure.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText, numberText, UNKNOWN } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import styles from './Figures.module.css';
import { Series } from './Series.tsx';
import { type ShownFigure, shownFigures } from './shownFigures.ts';

interface Props {
  of: ExperimentRef;
  experiment: Experiment;
  progress: LiveProgress | undefined;
}

/** Every figure with what it is made of, why values are not there, and how the figures went from run to run. */
export function Figures({ of, experiment, progress }: Props) {
  const { data: columns, error, refetch } = useQuery(experimentColumnsQuery(of.projectId));
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  // Without the columns a figure has no unit.
  if (!columns) return <LoadingNote what="the figures" />;
  const all = shownFigures(experiment, progress, columns);
  const gaps = all.flatMap(({ column, figures: { counts } }) => {
    if (!counts) return [];
    const lacking = counts.missing + counts.failed + counts.not_applicable;
    return gapsText(column.label, { values: counts.values, lacking, reasons: counts.reasons }) ?? [];
  });
  const judged = all.filter(({ figures }) => figures.counts?.judged_by_model_under_test);
  return (
    <div className={styles.figures}>
      {all.length === 0 ? (
        <p className="quiet">There are no figures yet.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
        <div className={styles.scroll} role="region" aria-label="Figures" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Metric</th>
                <th scope="col">Figure</th>
                {['p50', 'p95', 'Values', 'Missing', 'Failed', 'Not applicable', 'Failed rows', 'Trials agree'].map((name) => (
                  <th key={name} scope="col" className="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {all.map((one) => (
                <Line key={one.column.metric} {...one} agreement={experiment.trial_aggregates?.[one.column.metric]?.agreement} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {judged.length > 0 && (
        <p className={styles.warning}>
          * judged by{' '}
          {[...new Set(judged.map(({ figures }) => figures.counts?.judge_model ?? 'the model under test'))].join(', ')}, which
          gave the answers itself: a model tends to find its own answers good.
        </p>
      )}
      {gaps.length > 0 && (
        <ul className={styles.gaps}>
          {gaps.map((gap) => (
            <li key={gap}>{gap}.</li>
          ))}
        </ul>
      )}
      <Series {...{ of, experiment, columns }} />
    </div>
  );
}

function Line({ column, figures, soFar, agreement }: ShownFigure & { agreement: number | undefined }) {
  const { counts, figures: made } = figures;
  const count = (value: number | null | undefined, isBad = false) => (
    <td className={isBad && (value ?? 0) > 0 ? 'number bad' : 'number'}>{countText(value)}</td>
  );
  return (
    <tr>
      <th scope="row">{column.label}</th>
      <td>
        <MetricFigure {...{ figures, column, soFar }} domain={domainOf([figures], column)} />
      </td>
      <td className="number">{unitText(made?.p50, column.unit)}</td>
      <td className="number">{unitText(made?.p95, column.unit)}</td>
      {count(counts?.values ?? soFar ?? made?.count)}
      {count(counts?.missing)}
      {count(counts?.failed, true)}
      {count(counts?.not_applicable)}
      <td className="number">{counts ? failedRowsText(counts) : UNKNOWN}</td>
      <td className="number">{agreement === undefined ? UNKNOWN : unitText(agreement, 'percentage')}</td>
    </tr>
  );
}

/** Failed rows without a value, and what each counts as. */
function failedRowsText({ failed_rows_without_value: rows, worst }: NonNullable<ShownFigure['figures']['counts']>): string {
  if (rows === 0) return '0';
  return worst === null ? `${countText(rows)} left out` : `${countText(rows)} as ${numberText(worst)}`;
}
