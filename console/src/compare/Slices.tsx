import { useQuery } from '@tanstack/react-query';
import { metadataKeysQuery } from '../data/columnValues.ts';
import { slicesQuery } from '../data/comparison.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import styles from './ComparePage.module.css';
import { useCompareAddress } from './useCompareAddress.ts';
import { VerdictTable } from './VerdictTable.tsx';

interface Props {
  projectId: string;
  base: string;
  of: string;
  /** Id of the metric. */
  metric: string;
}

/** Where it is better, and where worse: the metric in the rows of each value of a column. A slice that is chosen leaves only its rows in the list. */
export function Slices({ projectId, base, of, metric }: Props) {
  const [{ slice, value }, change] = useCompareAddress();
  const run = { projectId, runId: base, isExperiment: true };
  const { data: keys = [] } = useQuery(metadataKeysQuery(run, 'traces'));
  const columns = [...new Set([...(slice ? [slice] : []), ...keys.map(({ column_id }) => column_id)])];
  if (columns.length === 0) return null;
  return (
    <section className={styles.section} aria-label="Slices">
      <label className={styles.sliced}>
        <h2>Slices</h2>
        <select
          aria-label="Slice rows by"
          value={slice ?? ''}
          onChange={(event) => change({ slice: event.target.value || undefined, value: undefined, open: undefined })}
        >
          <option value="">by nothing</option>
          {columns.map((id) => (
            <option key={id} value={id}>
              by {id}
            </option>
          ))}
        </select>
        {value !== undefined && (
          <button type="button" onClick={() => change({ value: undefined, open: undefined })}>
            Rows of all slices
          </button>
        )}
      </label>
      {slice && <SliceTable {...{ projectId, base, of, metric, slice }} />}
    </section>
  );
}

function SliceTable({ slice, ...question }: Props & { slice: string }) {
  const [{ value }, change] = useCompareAddress();
  const { data: slices, error, refetch } = useQuery(slicesQuery(question, slice));
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!slices) return <LoadingNote what="the slices" />;
  const lines = slices.map((comparison) => {
    const name = comparison.slice?.value ?? '';
    const isChosen = name === value;
    const onChoose = () => change({ value: isChosen ? undefined : name, open: undefined });
    return { key: name, name, comparison, isChosen, onChoose };
  });
  return (
    <>
      <p className="quiet">
        For exploring: slices are not corrected for their number, and small ones differ easily by chance. Check what you find with
        new rows.
      </p>
      <VerdictTable label={`Slices by ${slice}`} what={slice} lines={lines} isOneScale />
    </>
  );
}
