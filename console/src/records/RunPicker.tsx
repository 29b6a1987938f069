import { usePreferences } from '../parts/preferences.ts';
import styles from './RecordsPage.module.css';
import { type RecordsView, useRecordsAddress } from './useRecordsView.ts';

const kinds = [
  ['traces', 'Traces', undefined],
  ['spans', 'Spans', 'spans'],
  ['sessions', 'Sessions', 'sessions'],
] as const;

const ranges = [
  ['', 'Any time'],
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['1d', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

/** Which run, which kind of record, since when. */
export function RunPicker({ view }: { view: RecordsView }) {
  const [address, change] = useRecordsAddress();
  const { zone } = usePreferences();
  const { run, kind, streams = [], experiments } = view;
  const value = run ? `${run.isExperiment ? 'experiment' : 'run'} ${run.runId}` : '';
  const choose = (chosen: string) => {
    const [key, id] = chosen.split(' ');
    change({ run: undefined, experiment: undefined, open: undefined, ...(key === 'run' ? { run: id } : { experiment: id }) });
  };
  const isOwnRange = address.from !== undefined && !ranges.some(([range]) => range === address.from);
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
      <fieldset className={styles.kinds} aria-label="Kind of record" style={{ padding: 0, margin: 0 }}>
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
      <select
        aria-label={`Time range, ${zone} time`}
        value={address.from ?? ''}
        onChange={(event) => change({ from: event.target.value || undefined, to: undefined })}
      >
        {ranges.map(([range, label]) => (
          <option key={range} value={range}>
            {label}
          </option>
        ))}
        {isOwnRange && <option value={address.from}>Since {address.from}</option>}
      </select>
    </div>
  );
}
