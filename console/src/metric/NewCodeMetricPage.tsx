import { useParams, useSearch } from '@tanstack/react-router';
import { createCodeMetric } from '../data/codeMetrics.ts';
import { useDraft } from '../parts/useDraft.ts';
import { CodeForm } from './CodeForm.tsx';
import { CodeTryOut } from './CodeTryOut.tsx';
import { type CodeDraft, emptyCode, isBlankCode, scorerOfCode, unsavedOf } from './codeDraft.ts';
import { DraftByModel } from './DraftByModel.tsx';
import { NewMetricPage } from './NewMetricPage.tsx';

const from = '/signed in/p/$projectId/metrics/new-code';

/** Writes a metric of code, tries it on records, and saves it. */
export function NewCodeMetricPage() {
  const { projectId } = useParams({ from });
  const chosen = useSearch({ from });
  const [draft = emptyCode, setDraft] = useDraft<CodeDraft>(`new code ${projectId}`);
  return (
    <NewMetricPage
      title="New code metric"
      projectId={projectId}
      form={{
        label: 'Code metric',
        name: draft.name,
        isBlank: isBlankCode(draft),
        saveText: 'Save the metric',
        savingText: 'Checking and saving …',
        onSave: () => createCodeMetric(projectId, scorerOfCode(draft), unsavedOf(draft)),
        onEnd: () => setDraft(undefined),
      }}
      help={<DraftByModel kind={draft.kinds[0]} onCode={(code) => setDraft({ ...draft, code })} />}
      tryOut={<CodeTryOut {...{ projectId, draft, chosen }} />}
    >
      <CodeForm draft={draft} onDraft={setDraft} newIn={projectId} />
    </NewMetricPage>
  );
}
