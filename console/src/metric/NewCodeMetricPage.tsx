import { useMutation } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { createCodeMetric } from '../data/codeMetrics.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { say } from '../parts/notice.ts';
import { useDraft } from '../parts/useDraft.ts';
import { CodeForm } from './CodeForm.tsx';
import { CodeTryOut } from './CodeTryOut.tsx';
import { type CodeDraft, emptyCode, isBlankCode, scorerOfCode, unsavedOf } from './codeDraft.ts';
import { DraftByModel } from './DraftByModel.tsx';
import styles from './Judge.module.css';
import { NewMetricFrame } from './NewMetricFrame.tsx';

const from = '/signed in/p/$projectId/metrics/new-code';

/** Writes a metric of code, tries it on records, and saves it. */
export function NewCodeMetricPage() {
  const { projectId } = useParams({ from });
  const chosen = useSearch({ from });
  const navigate = useNavigate();
  const [draft = emptyCode, setDraft] = useDraft<CodeDraft>(`new code ${projectId}`);
  const saving = useMutation({
    mutationFn: () => createCodeMetric(projectId, scorerOfCode(draft), unsavedOf(draft)),
    onSuccess(metricId) {
      setDraft(undefined);
      say(`Saved “${draft.name.trim()}”`);
      return navigate({ to: '/p/$projectId/metrics/$metricId', params: { projectId, metricId }, search: {} });
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <NewMetricFrame title="New code metric" projectId={projectId}>
      <DraftByModel kind={draft.kinds[0]} onCode={(code) => setDraft({ ...draft, code })} />
      <form className={styles.editor} aria-label="Code metric" onSubmit={send}>
        <CodeForm draft={draft} onDraft={setDraft} isNew />
        {saving.error && <ErrorNote error={saving.error} />}
        <div className={styles.bar}>
          <button type="submit" className="primary" disabled={saving.isPending || isBlankCode(draft)}>
            {saving.isPending ? 'Checking and saving …' : 'Save the metric'}
          </button>
          <button type="button" onClick={() => setDraft(undefined)}>
            Discard
          </button>
        </div>
      </form>
      <CodeTryOut {...{ projectId, draft, chosen }} />
    </NewMetricFrame>
  );
}
