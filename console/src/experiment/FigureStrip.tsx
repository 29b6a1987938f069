import { useQuery } from '@tanstack/react-query';
import type { ExperimentRef, LiveProgress } from '../data/experiment.ts';
import { type Experiment, experimentColumnsQuery } from '../data/experiments.ts';
import { MetricFigure } from '../figures/MetricFigure.tsx';
import { domainOf } from '../figures/metricFigure.ts';
import styles from './ExperimentPage.module.css';
import { shownFigures } from './shownFigures.ts';

/** Shows the figures of its metrics, final or so far, at a glance. */
export function FigureStrip({
  of,
  experiment,
  progress,
}: {
  of: ExperimentRef;
  experiment: Experiment;
  progress: LiveProgress | undefined;
}) {
  const { data: columns } = useQuery(experimentColumnsQuery(of.projectId));
  const shown = shownFigures(experiment, progress, columns ?? []).filter(({ isOfSystem }) => !isOfSystem);
  if (shown.length === 0 || !columns) return null;
  return (
    <dl className={styles.strip} aria-label="Metrics">
      {shown.map(({ column, figures, soFar }) => (
        <div key={column.metric}>
          <dt>{column.label}</dt>
          <dd>
            <MetricFigure {...{ figures, column, soFar }} domain={domainOf([figures], column)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
