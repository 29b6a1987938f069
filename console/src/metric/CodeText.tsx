import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { may } from '../data/assets.ts';
import { codeQuery } from '../data/codeMetrics.ts';
import { type Metric, metricVersionsQuery } from '../data/metrics.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { useDraft } from '../parts/useDraft.ts';
import { LongText } from '../payload/LongText.tsx';
import { CodeVersionEditor } from './CodeVersionEditor.tsx';
import { type CodeDraft, draftOfCode, emptyCode } from './codeDraft.ts';
import { DefaultVersion, defaultOf } from './DefaultVersion.tsx';
import styles from './Judge.module.css';

/** The source of a metric's default version, or the new version that somebody is writing. */
export function CodeText({ metric, facts }: { metric: Metric; facts: ReactNode }) {
  const { data: versions, error, refetch } = useQuery(metricVersionsQuery(metric.id));
  const version = defaultOf(metric, versions);
  const code = useQuery({ ...codeQuery(metric.id, version?.version ?? 0), enabled: version !== undefined });
  const [draft, setDraft] = useDraft<CodeDraft>(`code ${metric.id}`);
  const failure = (versions ? null : error) ?? (code.data === undefined ? code.error : null);
  if (failure) return <ErrorNote error={failure} onRetry={() => void (versions ? code.refetch() : refetch())} />;
  if (!versions || (version && code.data === undefined)) return <LoadingNote what="the code" />;
  if (draft && may(metric, 'update'))
    return <CodeVersionEditor {...{ metric, draft }} newest={versions[0]?.version ?? 0} onDraft={setDraft} />;
  const source = code.data ?? '';
  const begun = version ? draftOfCode(metric, version, source) : { ...emptyCode, name: metric.name };
  return (
    <DefaultVersion {...{ metric, version, facts }} onWrite={() => setDraft(begun)}>
      <section className={styles.source} aria-label="Source code">
        <LongText text={source} />
      </section>
    </DefaultVersion>
  );
}
