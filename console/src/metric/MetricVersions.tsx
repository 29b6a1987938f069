import { useMutation, useQuery } from '@tanstack/react-query';
import { may } from '../data/assets.ts';
import { changeMetric, type Metric, metricVersionsQuery } from '../data/metrics.ts';
import page from '../dataset/DatasetPage.module.css';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { UNKNOWN } from '../parts/format.ts';
import list from '../parts/ListPage.module.css';
import { LoadingNote } from '../parts/notes.tsx';
import { TextVersions, versionsAt } from '../parts/TextVersions.tsx';
import { Time } from '../parts/Time.tsx';
import { CodeChanges } from './CodeChanges.tsx';
import { promptOf } from './judgeDraft.ts';
import { useMetricAddress } from './useMetricAddress.ts';
import { textOf } from './versionText.ts';

/** The versions of a judge or of code, newest first, and the words that differ between the two that the address names. */
export function MetricVersions({ metric }: { metric: Metric }) {
  const { address, change } = useMetricAddress();
  const { data: versions, error, refetch } = useQuery(metricVersionsQuery(metric.id));
  const choosing = useMutation({ mutationFn: (id: string) => changeMetric(metric.id, { default_version_id: id }) });
  if (error && !versions) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!versions) return <LoadingNote what="the versions" />;
  const isCode = metric.scorer_type === 'code';
  const { version, before } = versionsAt(versions, address);
  return (
    <>
      {choosing.error && <ErrorNote error={choosing.error} />}
      {version && isCode && <CodeChanges {...{ versions, version, before, change }} />}
      {version && !isCode && (
        <TextVersions {...{ versions, version, before, change }} textOf={(one) => textOf(one, promptOf(one))} />
      )}
      <section className={page.scrolled} aria-label="Versions">
        <table className={list.table}>
          <thead>
            <tr>
              <th scope="col">Version</th>
              {!isCode && (
                <th scope="col" className={list.wide}>
                  Model
                </th>
              )}
              <th scope="col" className="number">
                When
              </th>
              <th scope="col">
                <span className="only-read">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {versions.map((one) => (
              <tr key={one.id} aria-current={one === version ? 'true' : undefined}>
                <td>
                  {one.version}
                  {one.id === metric.default_version_id && <span className="quiet"> default</span>}
                </td>
                {!isCode && <td className={`quiet ${list.wide}`}>{one.model_names?.join(', ') ?? one.model_name ?? UNKNOWN}</td>}
                <td className="number">
                  <Time at={one.created_at} />
                </td>
                <td className={page.actions}>
                  <button type="button" className="plain" onClick={() => change({ version: one.version, with: undefined })}>
                    What changed<span className="only-read"> in version {one.version}</span>
                  </button>
                  {may(metric, 'update') && one.id !== metric.default_version_id && (
                    <button type="button" className="plain" disabled={choosing.isPending} onClick={() => choosing.mutate(one.id)}>
                      Make default<span className="only-read"> of version {one.version}</span>
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}
