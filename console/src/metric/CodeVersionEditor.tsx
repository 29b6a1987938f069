import { addCodeVersion } from '../data/codeMetrics.ts';
import type { Metric } from '../data/metrics.ts';
import { CodeForm } from './CodeForm.tsx';
import { CodeTryOut } from './CodeTryOut.tsx';
import { type CodeDraft, isBlankCode, unsavedOf } from './codeDraft.ts';
import { useMetricAddress } from './useMetricAddress.ts';
import { VersionEditor } from './VersionEditor.tsx';

interface Props {
  metric: Metric;
  draft: CodeDraft;
  /** The number of the newest version. */
  newest: number;
  onDraft(draft: CodeDraft | undefined): void;
}

/** Writes the next version of a metric of code and tries it on records. */
export function CodeVersionEditor({ metric, draft, newest, onDraft }: Props) {
  const { projectId, address } = useMetricAddress();
  return (
    <VersionEditor
      base={draft.base}
      newest={newest}
      isBlank={isBlankCode(draft)}
      savingText="Checking and saving …"
      onSave={() => addCodeVersion(metric.id, unsavedOf(draft))}
      onEnd={() => onDraft(undefined)}
      tryOut={<CodeTryOut {...{ projectId, draft, chosen: address }} />}
    >
      <CodeForm draft={draft} onDraft={onDraft} newIn={undefined} />
    </VersionEditor>
  );
}
