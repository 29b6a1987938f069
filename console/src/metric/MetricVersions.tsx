import { useMutation, useQuery } from '@tanstack/react-query';
import { may } from '../data/assets.ts';
import { changeMetric, type Metric, metricVersionsQuery } from '../data/metrics.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { UNKNOWN } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { TextVersions, versionsAt } from '../parts/TextVersions.tsx';
import { VersionTable } from '../parts/VersionTable.tsx';
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
      <VersionTable
        versions={versions}
        numberOf={(one) => one.version}
        current={version?.version}
        mark={(one) => (one.id === metric.default_version_id ? 'default' : undefined)}
        columns={
          isCode
            ? []
            : [
                {
                  name: 'Model',
                  kind: 'wide',
                  cell: (one) => one.model_names?.join(', ') ?? one.model_name ?? UNKNOWN,
                },
              ]
        }
        actions={(one) => (
          <>
            <button type="button" className="plain" onClick={() => change({ version: one.version, with: undefined })}>
              What changed<span className="only-read"> in version {one.version}</span>
            </button>
            {may(metric, 'update') && one.id !== metric.default_version_id && (
              <button type="button" className="plain" disabled={choosing.isPending} onClick={() => choosing.mutate(one.id)}>
                Make default<span className="only-read"> of version {one.version}</span>
              </button>
            )}
          </>
        )}
      />
    </>
  );
}
