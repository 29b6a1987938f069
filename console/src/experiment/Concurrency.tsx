import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type ExperimentRef, setConcurrency } from '../data/experiment.ts';
import { sentenceOf } from '../parts/ErrorNote.tsx';
import styles from './ExperimentPage.module.css';
import type { Steered } from './useLiveRun.ts';

interface Props {
  of: ExperimentRef;
  value: number;
  mayChange: boolean;
  onSteered(reply: Steered): void;
}

const MOST = 1_000;
/** Milliseconds without a further press before it is sent: several presses are one change. */
const PAUSE_MS = 400;

/** How many rows may be in flight at a time, and buttons for one less and one more. */
export function Concurrency({ of, value, mayChange, onSteered }: Props) {
  const [wanted, setWanted] = useState<string>();
  const changing = useMutation({
    mutationFn: (concurrency: number) => setConcurrency(of, concurrency),
    onSuccess: onSteered,
    onSettled: () => setWanted(undefined),
  });
  const { mutate } = changing;
  useEffect(() => {
    if (wanted === undefined || !isAllowed(Number(wanted))) return;
    const timer = setTimeout(() => mutate(Number(wanted)), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [wanted, mutate]);
  const shown = wanted ?? String(value);
  const step = (by: number) => setWanted(String(Math.min(MOST, Math.max(1, (Number(shown) || value) + by))));
  if (!mayChange)
    return (
      <span className={styles.concurrency}>
        Concurrency <span className={styles.value}>{value}</span>
      </span>
    );
  return (
    <span role="group" aria-label="Concurrency" className={styles.concurrency}>
      Concurrency
      <button type="button" aria-label="One row less at a time" disabled={Number(shown) <= 1} onClick={() => step(-1)}>
        −
      </button>
      <input
        type="number"
        min={1}
        max={MOST}
        aria-label="Rows at a time"
        aria-invalid={!isAllowed(Number(shown))}
        value={shown}
        onChange={(event) => setWanted(event.target.value)}
        onBlur={() => !isAllowed(Number(shown)) && setWanted(undefined)}
      />
      <button type="button" aria-label="One row more at a time" disabled={Number(shown) >= MOST} onClick={() => step(1)}>
        +
      </button>
      {changing.error && (
        <span role="alert" className="bad">
          {sentenceOf(changing.error)}
        </span>
      )}
    </span>
  );
}

const isAllowed = (value: number): boolean => Number.isInteger(value) && value >= 1 && value <= MOST;
