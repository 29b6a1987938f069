import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useDeferredValue, useMemo } from 'react';
import { metricKinds } from '../address/metricsAddress.ts';
import { useGoing } from '../data/deletions.ts';
import { metricsQuery } from '../data/metrics.ts';
import { useMay } from '../data/permissions.ts';
import { useProjectName } from '../data/projectName.ts';
import { projectQuery } from '../data/projects.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import styles from '../parts/ListPage.module.css';
import { EmptyNote, LoadingNote } from '../parts/notes.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { DefaultJudge } from './DefaultJudge.tsx';
import own from './MetricsPage.module.css';
import { MetricTable } from './MetricTable.tsx';
import { foundMetrics } from './metricText.ts';
import { useMetricsAddress } from './useMetricsAddress.ts';

const kindLabels = { judge: 'Built-in judges', code: 'Built-in code', own: 'Your own' } as const;

/** Every metric that runs of the project can have: what it measures, what it needs and gives, and where it is on. */
export function MetricsPage() {
  const { projectId, address, change } = useMetricsAddress();
  const { q = '', kind } = address;
  useTitle('Metrics', useProjectName(projectId));
  const project = useQuery(projectQuery(projectId));
  const { data, error, refetch } = useQuery({ ...metricsQuery(projectId), enabled: project.data !== undefined });
  // Without this, a user who does not see the project would see the built-in metrics.
  const failure = project.error ?? error;
  const retry = () => void (project.error ? project.refetch() : refetch());
  const mayMake = useMay(projectId, 'update');
  const going = useGoing();
  const words = useDeferredValue(q);
  const all = useMemo(() => data?.filter(({ id }) => !going.has(id)) ?? [], [data, going]);
  const found = useMemo(() => foundMetrics(all, words, kind), [all, words, kind]);
  return (
    <div className={`${styles.page} ${own.page}`}>
      <div className={styles.head}>
        <h1>Metrics</h1>
        <select
          aria-label="Kind"
          value={kind ?? ''}
          onChange={({ target }) => change({ kind: metricKinds.find((one) => one === target.value) })}
        >
          <option value="">All kinds</option>
          {metricKinds.map((one) => (
            <option key={one} value={one}>
              {kindLabels[one]}
            </option>
          ))}
        </select>
        <input
          type="search"
          aria-label="Find a metric"
          placeholder="Find by name or need"
          value={q}
          onChange={(event) => change({ q: event.target.value }, true)}
        />
        {mayMake && (
          <>
            <Link to="/p/$projectId/metrics/new-check" params={{ projectId }} search={{}} className={own.make}>
              New check
            </Link>
            <Link to="/p/$projectId/metrics/new-code" params={{ projectId }} search={{}} className={own.make}>
              New code metric
            </Link>
            <Link to="/p/$projectId/metrics/new" params={{ projectId }} search={{}} className={own.make}>
              New judge
            </Link>
          </>
        )}
      </div>
      {failure ? <ErrorNote error={failure} onRetry={retry} /> : !data && <LoadingNote what="metrics" />}
      {data && (
        <div className={own.line}>
          <p role="status" className="quiet">
            {found.length === all.length
              ? `${countText(all.length)} metrics`
              : `${countText(found.length)} of ${countText(all.length)} metrics`}
          </p>
          <DefaultJudge projectId={projectId} />
        </div>
      )}
      {data && found.length === 0 && (
        <EmptyNote title={q === '' ? 'There is none of this kind yet' : `No metric has “${q}” in its name or description`}>
          <p>
            A metric computes one value of each record, such as whether an answer is correct. Those that are built in are listed
            without a filter.
          </p>
          <button type="button" onClick={() => change({ q: undefined, kind: undefined })}>
            Show all
          </button>
        </EmptyNote>
      )}
      {found.length > 0 && <MetricTable projectId={projectId} metrics={found} />}
    </div>
  );
}
