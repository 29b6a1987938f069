import styles from './RecordsPage.module.css';
import { TimeRange } from './TimeRange.tsx';
import { type RecordsView, useRecordsAddress } from './useRecordsView.ts';

const kinds = [
  ['traces', 'Traces', undefined],
  ['spans', 'Spans', 'spans'],
  ['sessions', 'Sessions', 'sessions'],
] as const;

/** Which run, which kind of record, since when. */
export function RunPicker({ view }: { view: RecordsView }) {
  const [, change] = useRecordsAddress();
  const { run, kind, streams = [], experiments } = view;
  const value = run ? `${run.isExperiment ? 'experiment' : 'run'} ${run.runId}` : '';
  const choose = (chosen: string) => {
    const [key, id] = chosen.split(' ');
    change({ run: undefined, experiment: undefined, open: undefined, ...(key === 'run' ? { run: id } : { experiment: id }) });
  };
  return (
    <div className={styles.bar}>
      <select aria-label="Log stream or experiment" value={value} onChange={(event) => choose(event.target.value)}>
        {!run && <option value="">No log stream yet</option>}
        <optgroup label="Log streams">
          {streams.map(({ id, name }) => (
            <option key={id} value={`run ${id}`}>
              {name}
            </option>
          ))}
        </optgroup>
        {experiments.length > 0 && (
          <optgroup label="Experiments, newest first">
            {experiments.map(({ id, name }) => (
              <option key={id} value={`experiment ${id}`}>
                {name}
              </option>
            ))}
          </optgroup>
        )}
      </select>
      <fieldset className={styles.kinds} aria-label="Kind of record">
        {kinds.map(([id, label, inAddress]) => (
          <button
            key={id}
            type="button"
            aria-pressed={kind === id}
            onClick={() => change({ kind: inAddress, open: undefined, sort: undefined, cols: undefined })}
          >
            {label}
          </button>
        ))}
      </fieldset>
      <TimeRange />
    </div>
  );
}
