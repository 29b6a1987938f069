import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { countQuery, type RecordsQuestion } from '../data/records.ts';
import { countText } from '../parts/format.ts';
import { Icon } from '../parts/Icon.tsx';
import { useThrottled } from '../parts/useThrottled.ts';
import styles from './LiveTail.module.css';
import { useLive } from './useLive.ts';
import { useRecordsAddress } from './useRecordsView.ts';

/** Milliseconds between two counts of what fits a filter, and between two times that a screen reader says the number. */
const COUNT_MS = 3_000;
const SAY_MS = 10_000;

interface Props {
  question: RecordsQuestion;
  /** Records that fitted when the table was loaded. */
  counted: number | undefined;
  onLoad(): void;
}

/** A switch for hearing of new records, and how many there are that the table does not show. They come into it when somebody presses. */
export function LiveTail({ question, counted, onLoad }: Props) {
  const [{ live: inAddress }, change] = useRecordsAddress();
  const control = useRef<HTMLInputElement>(null);
  const isOn = inAddress === 'on';
  const { latest, isConnected, error } = useLive(question.run, isOn);
  const held = latest?.num_records[question.kind];
  const toCount = useThrottled(question.filter && isOn ? held : undefined, COUNT_MS);
  const fitting = useQuery(countQuery(question, toCount)).data;
  const now = question.filter ? fitting : held;
  const fresh = isOn && now !== undefined && counted !== undefined ? Math.max(0, now - counted) : 0;
  const said = useThrottled(fresh, SAY_MS);
  const load = () => {
    control.current?.focus(); // the button goes
    onLoad();
  };
  return (
    <div className={styles.live}>
      <label className={styles.switch} data-state={error ? 'refused' : isConnected ? 'connected' : 'waiting'}>
        <input
          ref={control}
          type="checkbox"
          role="switch"
          aria-checked={isOn}
          checked={isOn}
          onChange={() => change({ live: isOn ? undefined : 'on' }, { replace: true })}
        />
        Live
      </label>
      {isOn && !error && (
        <button type="button" className={`iconed ${styles.fresh}`} data-none={fresh === 0} onClick={load}>
          <Icon name="up" />
          {countText(fresh)} new
        </button>
      )}
      {isOn && error && <span className="bad">{error.message}</span>}
      <span role="status" className="only-read">
        {said > 0 ? `${countText(said)} new ${question.kind}` : ''}
      </span>
    </div>
  );
}
