import { useMutation } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { HttpStatusError } from '../../../client/errors.ts';
import { saveEdits } from '../data/datasetRows.ts';
import { changed } from '../data/datasets.ts';
import { countText } from '../parts/format.ts';
import { say } from '../parts/notice.ts';
import { useDraft } from '../parts/useDraft.ts';
import { type Draft, editsOf, type Folded, folded, type Step, type Typing, typedBy } from './draft.ts';

const nothing: readonly Step[] = [];

/** The changes of a dataset's rows that one person has not saved, and what can be done with them. */
export function useRowDraft(datasetId: string, current: number) {
  const [kept, setKept] = useDraft<Draft>(`dataset ${datasetId}`);
  // A draft without a change follows the dataset.
  const draft = useMemo(
    () => (kept && (kept.steps.length > 0 || kept.typing) ? kept : { base: current, steps: nothing, undone: nothing }),
    [kept, current],
  );
  const [discarded, setDiscarded] = useState<Draft>();
  const result: Folded = useMemo(() => folded(draft.steps), [draft.steps]);
  const take = (...steps: Step[]) => setKept({ ...draft, steps: [...draft.steps, ...steps], undone: [], typing: undefined });
  const saving = useMutation({
    mutationFn: () => saveEdits(datasetId, draft.base, editsOf(result)),
    onSuccess(version) {
      setKept(undefined);
      say(`Saved as version ${version}: ${countText(result.count)} ${result.count === 1 ? 'row' : 'rows'}`);
    },
    // The page shows rows that others saved meanwhile beside the draft.
    onError: (err) => err instanceof HttpStatusError && err.status === 412 && changed(datasetId),
  });
  return {
    draft,
    result,
    take,
    replace: (next: Draft) => setKept(next),
    /** Keeps what is being typed in a cell, key by key. */
    type: (typing: Typing) => setKept({ ...draft, typing }),
    stopTyping: () => draft.typing && setKept({ ...draft, typing: undefined }),
    undo() {
      const last = draft.steps.at(-1);
      if (last) setKept({ ...draft, steps: draft.steps.slice(0, -1), undone: [last, ...draft.undone] });
    },
    redo() {
      const [next, ...undone] = draft.undone;
      if (next) setKept({ ...draft, steps: [...draft.steps, next], undone });
    },
    discard() {
      setDiscarded(draft);
      setKept(undefined);
    },
    /** Takes the discarding back; undefined once something else was changed. */
    bringBack: discarded && draft.steps.length === 0 ? () => setKept(discarded) : undefined,
    save: () => saving.mutate(),
    isSaving: saving.isPending,
    error: saving.error instanceof HttpStatusError && saving.error.status === 412 ? null : saving.error,
    /** Somebody has saved another version since. */
    isBehind: draft.base < current && draft.steps.length > 0 && !saving.isPending,
  };
}

export type RowDraft = ReturnType<typeof useRowDraft>;

/** The step that sets a cell to what was typed; undefined where nothing is changed by it. */
export function stepOf(rowId: string, column: string, text: string, before: { text: string; isJson: boolean }): Step | undefined {
  return text === before.text ? undefined : { does: 'set', rowId, column, ...typedBy(text, column, before) };
}
