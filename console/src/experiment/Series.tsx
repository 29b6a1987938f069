import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ExperimentRef, seriesQuery } from '../data/experiment.ts';
import { type Experiment, type ExperimentColumn, figuresOf } from '../data/experiments.ts';
import { figureColumn, unitText } from '../figures/metricFigure.ts';
import { lineText, UNKNOWN } from '../parts/format.ts';
import { Time } from '../parts/Time.tsx';
import styles from './Figures.module.css';
import { stateText } from './runState.ts';

/** Metrics that have a column: those that most runs of the series have. */
const MOST_METRICS = 4;

interface Props {
  of: ExperimentRef;
  experiment: Experiment;
  columns: readonly ExperimentColumn[] | undefined;
}

/** The runs of the same series, the oldest first, with their figures. */
export function Series({ of, experiment, columns = [] }: Props) {
  const { data } = useQuery(seriesQuery(of.projectId, experiment.series));
  if (!data || data.length < 2) return null;
  const runs = data.toReversed();
  const times = new Map<string, number>();
  for (const run of runs)
    for (const [metric, { figure }] of Object.entries(run.aggregates))
      if (figure !== null) times.set(metric, (times.get(metric) ?? 0) + 1);
  const metrics = [...times].sort(([, a], [, b]) => b - a).slice(0, MOST_METRICS);
  const shown = metrics.map(([metric]) => {
    const column = columns.find(
      ({ id }) => id === `metrics/${metric}` || id === `metrics/${experiment.metric_scorer_ids[metric]}`,
    );
    return {
      metric,
      ...(column ? { label: figureColumn(column).label, unit: figureColumn(column).unit } : { label: metric, unit: null }),
    };
  });
  return (
    <section aria-label={`Runs of ${lineText(experiment.series, 200)}`}>
      <h2>Runs of {lineText(experiment.series, 200)}</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
      <div className={styles.scroll} role="region" aria-label="Runs of the series" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Run</th>
              <th scope="col">Created</th>
              <th scope="col">State</th>
              {shown.map(({ metric, label }) => (
                <th key={metric} scope="col" className="number">
                  {label}
                </th>
              ))}
              <th scope="col">Gate</th>
              <th scope="col">Approved</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.id} aria-current={run.id === experiment.id || undefined}>
                <th scope="row">
                  {run.id === experiment.id ? (
                    lineText(run.name, 200)
                  ) : (
                    <Link
                      to="/p/$projectId/experiments/$experimentId"
                      params={{ projectId: of.projectId, experimentId: run.id }}
                      search={{ tab: 'figures' }}
                    >
                      {lineText(run.name, 200)}
                    </Link>
                  )}
                </th>
                <td>
                  <Time at={run.created_at} />
                </td>
                <td>{stateText(run.state)}</td>
                {shown.map(({ metric, unit }) => (
                  <td key={metric} className="number">
                    {unitText(figuresOf(run, metric)?.figure, unit)}
                  </td>
                ))}
                <td>{run.gate?.status ?? UNKNOWN}</td>
                <td>{run.approved_at === null ? UNKNOWN : <Time at={run.approved_at} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
