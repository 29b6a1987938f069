import type { ChosenAddress } from '../address/metricAddress.ts';
import { tryCodeOnRecords, tryCodeOnRows } from '../data/codeMetrics.ts';
import { type CodeDraft, isBlankCode, unsavedOf } from './codeDraft.ts';
import { TryOut } from './TryOut.tsx';

/** Tries code that is not saved. */
export const CodeTryOut = ({ draft, ...given }: { projectId: string; draft: CodeDraft; chosen: ChosenAddress }) => (
  <TryOut
    {...given}
    isJudge={false}
    unsaved={unsavedOf(draft)}
    kinds={draft.kinds}
    isBlank={isBlankCode(draft)}
    onRecords={tryCodeOnRecords}
    onRows={tryCodeOnRows}
  />
);
