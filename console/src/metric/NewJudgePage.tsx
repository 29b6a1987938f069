import { useQuery } from '@tanstack/react-query';
import { useParams, useSearch } from '@tanstack/react-router';
import { createJudge, defaultJudgeQuery } from '../data/metrics.ts';
import { useDraft } from '../parts/useDraft.ts';
import { JudgeForm } from './JudgeForm.tsx';
import { JudgeTryOut } from './JudgeTryOut.tsx';
import { emptyJudge, type JudgeDraft, requiredOf, scorerOf, versionOf } from './judgeDraft.ts';
import { NewMetricPage } from './NewMetricPage.tsx';

const from = '/signed in/p/$projectId/metrics/new';

/** Writes a judge, tries it on records, and saves it. */
export function NewJudgePage() {
  const { projectId } = useParams({ from });
  const chosen = useSearch({ from });
  const { data: usual } = useQuery(defaultJudgeQuery(projectId));
  const [draft = emptyJudge, setDraft] = useDraft<JudgeDraft>(`new judge ${projectId}`);
  const save = () => {
    const fixed = { name: draft.name.trim(), required_scorers: requiredOf(draft) };
    return createJudge(projectId, { ...fixed, ...scorerOf(draft) }, versionOf(draft));
  };
  return (
    <NewMetricPage
      title="New judge"
      projectId={projectId}
      form={{
        label: 'Judge',
        name: draft.name,
        isBlank: draft.kinds.length === 0,
        saveText: 'Save the judge',
        savingText: 'Saving …',
        onSave: save,
        onEnd: () => setDraft(undefined),
      }}
      tryOut={<JudgeTryOut {...{ projectId, draft, chosen }} />}
    >
      <JudgeForm draft={draft} onDraft={setDraft} newIn={projectId} usualModel={usual?.model} />
    </NewMetricPage>
  );
}
