import { useQuery } from '@tanstack/react-query';
import { memo, useState } from 'react';
import { newestRecordsQuery } from '../data/projects.ts';
import { timeText } from '../parts/format.ts';
import { usePreferences } from '../parts/preferences.ts';
import styles from './RecordsPage.module.css';
import { TimeRange } from './TimeRange.tsx';
import { type RecordsView, useChangeAddress } from './useRecordsView.ts';

const kinds = [
  ['traces', 'Traces', undefined],
  ['spans', 'Spans', 'spans'],
  ['sessions', 'Sessions', 'sessions'],
] as const;

/** Lets the reader choose the run, the kind of record and the time. */
export const RunPicker = memo(function RunPicker(
  props: Pick<RecordsView, 'projectId' | 'run' | 'kind' | 'streams' | 'experiments'>,
) {
  const { projectId, run, kind, streams = [], experiments } = props;
  const change = useChangeAddress();
  const { zone } = usePreferences();
  const [isUsed, setUsed] = useState(false);
  const newest = useQuery({ ...newestRecordsQuery(projectId), enabled: isUsed }).data;
  const labelOf = ({ id, name }: { id: string; name: string }) => {
    const time = newest?.get(id);
    return time === undefined ? name : `${name} · ${time === null ? 'no records' : timeText(time, zone)}`;
  };
  const value = run ? `${run.isExperiment ? 'experiment' : 'run'} ${run.runId}` : '';
  const choose = (chosen: string) => {
    const [key, id] = chosen.split(' ');
    change({ run: undefined, experiment: undefined, open: undefined, ...(key === 'run' ? { run: id } : { experiment: id }) });
  };
  return (
    <div className={styles.bar}>
      <select
        aria-label="Log stream or experiment"
        value={value}
        onFocus={() => setUsed(true)}
        onPointerEnter={() => setUsed(true)}
        onChange={(event) => choose(event.target.value)}
      >
        {!run && <option value="">No log stream yet</option>}
        <optgroup label="Log streams">
          {streams.map((stream) => (
            <option key={stream.id} value={`run ${stream.id}`}>
              {labelOf(stream)}
            </option>
          ))}
        </optgroup>
        {experiments.length > 0 && (
          <optgroup label="Experiments, newest first">
            {experiments.map((experiment) => (
              <option key={experiment.id} value={`experiment ${experiment.id}`}>
                {labelOf(experiment)}
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
});
