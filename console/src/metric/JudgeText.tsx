import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { may } from '../data/assets.ts';
import { type Metric, metricVersionsQuery } from '../data/metrics.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { useDraft } from '../parts/useDraft.ts';
import { LongText } from '../payload/LongText.tsx';
import { DefaultVersion, defaultOf } from './DefaultVersion.tsx';
import styles from './Judge.module.css';
import { JudgeVersionEditor } from './JudgeVersionEditor.tsx';
import { draftOf, emptyJudge, type JudgeDraft, promptOf } from './judgeDraft.ts';

/** The prompt of a judge's default version, or the new version that somebody is writing. */
export function JudgeText({ metric, facts }: { metric: Metric; facts: ReactNode }) {
  const { data: versions, error, refetch } = useQuery(metricVersionsQuery(metric.id));
  const [draft, setDraft] = useDraft<JudgeDraft>(`judge ${metric.id}`);
  if (error && !versions) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!versions) return <LoadingNote what="the judge" />;
  if (draft && may(metric, 'update'))
    return <JudgeVersionEditor {...{ metric, draft }} newest={versions[0]?.version ?? 0} onDraft={setDraft} />;
  const version = defaultOf(metric, versions);
  const begun = version ? draftOf(metric, version) : { ...emptyJudge, name: metric.name };
  return (
    <DefaultVersion {...{ metric, version, facts }} onWrite={() => setDraft(begun)}>
      <section className={styles.text} aria-label="Prompt">
        <LongText text={version ? promptOf(version) : ''} />
      </section>
    </DefaultVersion>
  );
}
