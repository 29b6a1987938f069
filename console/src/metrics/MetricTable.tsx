import { linkOptions } from '@tanstack/react-router';
import { memo, useMemo } from 'react';
import type { Metric } from '../data/metrics.ts';
import { countText, UNKNOWN } from '../parts/format.ts';
import styles from '../parts/ListPage.module.css';
import { RowLink } from '../parts/RowLink.tsx';
import own from './MetricsPage.module.css';
import { callsOf, directionText, givesText, kindText, needsOf } from './metricText.ts';
import { useStreamsWith } from './useStreamsWith.ts';

interface Props {
  projectId: string;
  metrics: readonly Metric[];
}

/** Metrics, one a row. */
export const MetricTable = memo(function MetricTable({ projectId, metrics }: Props) {
  const { streamsWith, isKnown, streams, left } = useStreamsWith(projectId);
  return (
    <>
      <table className={`${styles.table} ${own.metrics}`}>
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <th scope="col" className={styles.wide}>
              Kind
            </th>
            <th scope="col">Needs</th>
            <th scope="col">Gives</th>
            <th scope="col" className={styles.wide}>
              On for
            </th>
            <th scope="col" className={`number ${own.widest}`}>
              Version
            </th>
            <th scope="col" className={`number ${own.widest}`} title="How often a judge model is asked for one record">
              Judge calls
            </th>
          </tr>
        </thead>
        <tbody>
          {metrics.map((metric) => (
            <MetricRow
              key={metric.id}
              projectId={projectId}
              metric={metric}
              on={isKnown ? (namesOf(streamsWith(metric.id)) ?? '') : undefined}
            />
          ))}
        </tbody>
      </table>
      {left > 0 && (
        <p className="quiet">
          “On for” looks at the {countText(streams.length)} newest log streams; {countText(left)} are left out.
        </p>
      )}
    </>
  );
});

interface RowProps {
  projectId: string;
  metric: Metric;
  /** Names of the log streams that have it; empty: none; undefined: not known yet. */
  on: string | undefined;
}

/** One metric. A letter of what is searched for leaves the rows that stay as they are. */
const MetricRow = memo(function MetricRow({ projectId, metric, on }: RowProps) {
  const page = useMemo(
    () => linkOptions({ to: '/p/$projectId/metrics/$metricId', params: { projectId, metricId: metric.id }, search: {} }),
    [projectId, metric.id],
  );
  return (
    <tr>
      <td>
        <RowLink page={page} className={styles.name}>
          {metric.label}
        </RowLink>
        <p className={`quiet ${own.says}`}>{metric.description || 'Nothing says what it measures.'}</p>
      </td>
      <td className={styles.wide}>{kindText(metric)}</td>
      <td>
        <Needs metric={metric} />
      </td>
      <td>
        {givesText(metric) ?? UNKNOWN}
        <p className="quiet">{directionText(metric)}</p>
      </td>
      <td className={styles.wide}>{on === undefined ? UNKNOWN : on || <None />}</td>
      <td className={`number ${own.widest}`}>
        {versionText(metric) ?? <span className="quiet">{metric.scorer_type === 'preset' ? 'built in' : 'none yet'}</span>}
      </td>
      <td className={`number ${own.widest}`}>{callsText(metric) ?? <None />}</td>
    </tr>
  );
});

function Needs({ metric }: { metric: Metric }) {
  const needs = needsOf(metric);
  if (needs.length === 0) return <span className="quiet">nothing else</span>;
  return (
    <ul className={own.needs}>
      {needs.map((need) => (
        <li key={need}>{need}</li>
      ))}
    </ul>
  );
}

const None = () => <span className="quiet">none</span>;

/** Two names, and how many more there are. */
function namesOf(streams: readonly { name: string }[]): string | undefined {
  if (streams.length === 0) return undefined;
  const named = streams
    .slice(0, 2)
    .map(({ name }) => name)
    .join(', ');
  return streams.length > 2 ? `${named} and ${countText(streams.length - 2)} more` : named;
}

function versionText({ default_version, latest_version }: Metric): string | undefined {
  if (!default_version || !latest_version) return undefined;
  return default_version.version === latest_version.version
    ? String(latest_version.version)
    : `${default_version.version} of ${latest_version.version}`;
}

function callsText(metric: Metric): string | undefined {
  const calls = callsOf(metric);
  return calls === undefined ? undefined : countText(calls);
}
