import { useQueries } from '@tanstack/react-query';
import type { ComponentProps } from 'react';
import { codeQuery } from '../data/codeMetrics.ts';
import type { MetricVersion } from '../data/metrics.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { TextVersions } from '../parts/TextVersions.tsx';
import { textOf } from './versionText.ts';

type Props = Omit<ComponentProps<typeof TextVersions<MetricVersion>>, 'textOf'>;

/** Shows the words that differ between the sources of two versions, which it reads. */
export function CodeChanges(props: Props) {
  const compared = [props.version, ...(props.before ? [props.before] : [])];
  const sources = useQueries({ queries: compared.map(({ scorer_id, version }) => codeQuery(scorer_id, version)) });
  const failed = sources.find(({ data, error }) => error && data === undefined);
  if (failed) return <ErrorNote error={failed.error} onRetry={() => void failed.refetch()} />;
  if (sources.some(({ data }) => data === undefined)) return <LoadingNote what="the code" />;
  return <TextVersions {...props} textOf={(version) => textOf(version, sources[compared.indexOf(version)]?.data ?? '')} />;
}
