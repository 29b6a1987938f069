import { useMutation } from '@tanstack/react-query';
import type { ExperimentComparison, RowsQuestion } from '../data/comparison.ts';
import { saveComparison, saveRows } from '../data/comparisonExport.ts';
import { sentenceOf } from '../parts/ErrorNote.tsx';
import { say } from '../parts/notice.ts';

/** Saves the verdicts, or the rows that are listed, as a file. */
export function ExportMenu({ reply, rows }: { reply: ExperimentComparison; rows: RowsQuestion | undefined }) {
  const saving = useMutation({
    mutationFn: (format: 'jsonl' | 'csv') => (rows ? saveRows(rows, format, new AbortController().signal) : Promise.resolve()),
    onError: (error) => say(sentenceOf(error)),
  });
  const choices: [label: string, save: () => void, isOff: boolean][] = [
    ['Verdicts as CSV', () => saveComparison(reply, 'csv'), false],
    ['Verdicts as JSON', () => saveComparison(reply, 'json'), false],
    ['Rows as CSV', () => saving.mutate('csv'), !rows],
    ['Rows as JSON lines', () => saving.mutate('jsonl'), !rows],
  ];
  return (
    <>
      <button type="button" popoverTarget="export-comparison" disabled={saving.isPending}>
        {saving.isPending ? 'Reading rows …' : 'Export'}
      </button>
      <div popover="auto" id="export-comparison" className="menu">
        {choices.map(([label, save, isOff]) => (
          <button
            key={label}
            type="button"
            className="plain item"
            popoverTarget="export-comparison"
            popoverTargetAction="hide"
            disabled={isOff}
            onClick={save}
          >
            {label}
          </button>
        ))}
      </div>
    </>
  );
}
