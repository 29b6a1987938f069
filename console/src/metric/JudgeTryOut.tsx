import type { ChosenAddress } from '../address/metricAddress.ts';
import { tryOnRecords, tryOnRows } from '../data/judgeTryOut.ts';
import { type JudgeDraft, unsavedOf } from './judgeDraft.ts';
import { TryOut } from './TryOut.tsx';

/** Tries a judge that is not saved. */
export const JudgeTryOut = ({ draft, ...given }: { projectId: string; draft: JudgeDraft; chosen: ChosenAddress }) => (
  <TryOut
    {...given}
    isJudge
    unsaved={unsavedOf(draft)}
    kinds={draft.kinds}
    isBlank={draft.prompt.trim() === '' || draft.kinds.length === 0}
    note={draft.models.includes(',') ? 'A try-out asks the first of the models alone.' : undefined}
    onRecords={tryOnRecords}
    onRows={tryOnRows}
  />
);
