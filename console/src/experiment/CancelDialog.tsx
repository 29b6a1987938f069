import { useEffect, useRef } from 'react';
import { countText } from '../parts/format.ts';
import styles from './ExperimentPage.module.css';

/** Asks before a run is cancelled. */
export function CancelDialog({ rowsLeft, onCancel, onClose }: { rowsLeft: number; onCancel(): void; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="cancel-question" closedby="any" onClose={onClose} className={styles.dialog}>
      <form
        method="dialog"
        onSubmit={(event) => {
          const { submitter } = event.nativeEvent as SubmitEvent;
          if ((submitter as HTMLButtonElement | null)?.value === 'cancel') onCancel();
        }}
      >
        <h2 id="cancel-question">Cancel the run?</h2>
        <p>
          {rowsLeft === 0
            ? 'All rows are recorded; scores that are missing stay so.'
            : `${countText(rowsLeft)} rows are not run.`}{' '}
          What is recorded stays, and the run can be started again for the rest.
        </p>
        <div className={styles.buttons}>
          <button type="submit">Let it run</button>
          <button type="submit" value="cancel" className="primary">
            Cancel the run
          </button>
        </div>
      </form>
    </dialog>
  );
}
