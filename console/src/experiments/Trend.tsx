import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { type Experiment, type ExperimentsQuestion, figuresOf, tagsOf, trendQuery } from '../data/experiments.ts';
import type { Domain, FigureColumn } from '../figures/metricFigure.ts';
import { TrendLine, type TrendPoint } from '../figures/TrendLine.tsx';
import { timeText } from '../parts/format.ts';
import { usePreferences } from '../parts/preferences.ts';
import styles from './ExperimentsPage.module.css';
import type { CatalogColumn } from './experimentColumns.ts';
import { useExperimentsAddress } from './useExperimentsView.ts';

/** Keys of tags that say what was deployed, the likeliest first. */
const deployKeys = ['deploy', 'deployment', 'release', 'version', 'commit', 'build', 'branch'];
const LONG_AGO = new Date(0);

interface Props {
  question: ExperimentsQuestion;
  catalog: readonly CatalogColumn[];
  /** Ids of the columns that are shown: the first metric of them is drawn where none is chosen. */
  shown: readonly string[];
}

/** How a metric went from run to run of a group or series, with its baselines, failed gates, and the deploys in between. */
export function Trend({ question, catalog, shown }: Props) {
  const [address, change] = useExperimentsAddress();
  const { zone } = usePreferences();
  const { data: experiments = [] } = useQuery(trendQuery(question));
  const metrics = useMemo(
    () =>
      catalog.flatMap(({ id, figure, measured }) => {
        const column = figure ?? (id.startsWith('metrics/') ? measured : undefined);
        return column && experiments.some((one) => figuresOf(one, column.metric)?.figure != null) ? [{ id, column }] : [];
      }),
    [catalog, experiments],
  );
  const keys = useMemo(() => keysOf(experiments), [experiments]);
  const chosen = metrics.find(({ id }) => id === address.trend) ?? firstOf(shown, metrics) ?? metrics[0];
  const mark = address.mark ?? keys[0];
  const points = useMemo(
    () => (chosen ? pointsOf(experiments, chosen.column, mark, (time) => timeText(time, zone, LONG_AGO)) : []),
    [experiments, chosen, mark, zone],
  );
  if (experiments.length < 2 || !chosen) return null;
  return (
    <section className={styles.trend} aria-label="Trend">
      <div className={styles.trendChoice}>
        <label>
          Trend of
          <select value={chosen.id} onChange={(event) => change({ trend: event.target.value }, { replace: true })}>
            {metrics.map(({ id, column }) => (
              <option key={id} value={id}>
                {column.label}
              </option>
            ))}
          </select>
        </label>
        {keys.length > 0 && (
          <label>
            Marks where
            <select value={mark} onChange={(event) => change({ mark: event.target.value }, { replace: true })}>
              {[...new Set([...keys, ...(mark === undefined ? [] : [mark])])].map((key) => (
                <option key={key} value={key}>
                  {key} changes
                </option>
              ))}
              <option value="-">nothing</option>
            </select>
          </label>
        )}
      </div>
      <TrendLine
        label={`${chosen.column.label} over time`}
        {...{ points, column: chosen.column }}
        domain={spanOf(points, chosen.column)}
        link={(point, drawn, events) => (
          <Link
            key={point.id}
            to="/p/$projectId/experiments/$experimentId"
            params={{ projectId: question.projectId, experimentId: point.id }}
            search={{}}
            {...events}
          >
            {drawn}
          </Link>
        )}
      />
    </section>
  );
}

/** The first metric of the shown columns that says how good the answers are, else the first. */
function firstOf<T extends { id: string }>(shown: readonly string[], metrics: readonly T[]): T | undefined {
  const drawn = shown.flatMap((id) => metrics.find((one) => one.id === id) ?? []);
  return drawn.find(({ id }) => id !== 'metrics/duration_ns') ?? drawn[0];
}

/** The keys of tags whose values differ among the experiments, those of deploys first. */
function keysOf(experiments: readonly Experiment[]): string[] {
  const values = Map.groupBy(experiments.flatMap(tagsOf), ({ key }) => key);
  const differing = [...values].filter(([, tags]) => new Set(tags.map(({ value }) => value)).size > 1).map(([key]) => key);
  const placeOf = (key: string) => (deployKeys.includes(key) ? deployKeys.indexOf(key) : deployKeys.length);
  return differing.sort((a, b) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1));
}

function pointsOf(
  experiments: readonly Experiment[],
  { metric }: FigureColumn,
  mark: string | undefined,
  textOf: (time: string) => string,
): TrendPoint[] {
  let before: string | undefined;
  return experiments.map((experiment) => {
    const { id, name, series, created_at, approved_at, gate } = experiment;
    const figures = figuresOf(experiment, metric);
    const value = tagsOf(experiment).find(({ key }) => key === mark)?.value;
    const isChanged = value !== undefined && before !== undefined && value !== before;
    before = value ?? before;
    return {
      ...{ id, line: series, value: figures?.figure ?? null, interval: figures?.interval ?? null },
      mark: approved_at !== null ? 'baseline' : gate?.status === 'failed' ? 'failed' : undefined,
      change: isChanged ? `${mark} ${value}` : undefined,
      said: `${name}, ${textOf(created_at)}`,
    };
  });
}

/** The span of the figures and their intervals, with a little room, within the range of the metric. */
function spanOf(points: readonly TrendPoint[], { range }: FigureColumn): Domain {
  const numbers = points.flatMap(({ value, interval }) =>
    value === null ? [] : [value, ...(interval ? [interval.low, interval.high] : [])],
  );
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const room = (high - low) * 0.1 || Math.abs(high) * 0.1 || 1;
  return {
    min: Math.max(low - room, range?.min ?? Number.NEGATIVE_INFINITY),
    max: Math.min(high + room, range?.max ?? Number.POSITIVE_INFINITY),
  };
}
