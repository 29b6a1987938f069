import { useQuery } from '@tanstack/react-query';
import { addJudgeVersion, defaultJudgeQuery, type Metric } from '../data/metrics.ts';
import { JudgeForm } from './JudgeForm.tsx';
import { JudgeTryOut } from './JudgeTryOut.tsx';
import { type JudgeDraft, scorerOf, versionOf } from './judgeDraft.ts';
import { useMetricAddress } from './useMetricAddress.ts';
import { VersionEditor } from './VersionEditor.tsx';

interface Props {
  metric: Metric;
  draft: JudgeDraft;
  /** The number of the newest version. */
  newest: number;
  onDraft(draft: JudgeDraft | undefined): void;
}

/** Writes the next version of a judge and tries it on records. */
export function JudgeVersionEditor({ metric, draft, newest, onDraft }: Props) {
  const { projectId, address } = useMetricAddress();
  const { data: usual } = useQuery(defaultJudgeQuery(projectId));
  return (
    <VersionEditor
      base={draft.base}
      newest={newest}
      isBlank={draft.kinds.length === 0}
      savingText="Saving …"
      onSave={() => addJudgeVersion(metric.id, scorerOf(draft), versionOf(draft))}
      onEnd={() => onDraft(undefined)}
      tryOut={<JudgeTryOut {...{ projectId, draft, chosen: address }} />}
    >
      <JudgeForm draft={draft} onDraft={onDraft} newIn={undefined} usualModel={usual?.model} />
    </VersionEditor>
  );
}
