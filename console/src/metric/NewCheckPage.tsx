import { useParams } from '@tanstack/react-router';
import { createCheck } from '../data/metrics.ts';
import { useDraft } from '../parts/useDraft.ts';
import { CheckForm } from './CheckForm.tsx';
import { type CheckDraft, emptyCheck, isBlankCheck, scorerOfCheck } from './checkDraft.ts';
import { NewMetricPage } from './NewMetricPage.tsx';

/** Sets a check up, and saves it. */
export function NewCheckPage() {
  const { projectId } = useParams({ from: '/signed in/p/$projectId/metrics/new-check' });
  const [draft = emptyCheck, setDraft] = useDraft<CheckDraft>(`new check ${projectId}`);
  return (
    <NewMetricPage
      title="New check"
      projectId={projectId}
      form={{
        label: 'Check',
        name: draft.name,
        isBlank: isBlankCheck(draft),
        saveText: 'Save the check',
        savingText: 'Saving …',
        onSave: () => createCheck(projectId, scorerOfCheck(draft)),
        onEnd: () => setDraft(undefined),
      }}
    >
      <CheckForm draft={draft} onDraft={setDraft} isNew />
    </NewMetricPage>
  );
}
