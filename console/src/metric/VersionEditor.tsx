import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { say } from '../parts/notice.ts';
import styles from './Judge.module.css';

interface Props {
  /** The number of the version that the new one was made of; undefined for a first version. */
  base: number | undefined;
  /** The number of the newest version. */
  newest: number;
  isBlank: boolean;
  /** The text of the button while the version is saved. */
  savingText: string;
  /** Saves the version. @returns its number */
  onSave(): Promise<number>;
  /** The version is saved or discarded. */
  onEnd(): void;
  tryOut: ReactNode;
  /** The fields of the version. */
  children: ReactNode;
}

/** The form that the next version of a metric is written in, above its try-out. */
export function VersionEditor({ base, newest, isBlank, savingText, onSave, onEnd, tryOut, children }: Props) {
  const saving = useMutation({
    mutationFn: onSave,
    onSuccess(version) {
      say(`Saved as version ${version}`);
      onEnd();
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <div className={styles.editor}>
      <form className={styles.editor} aria-label="New version" onSubmit={send}>
        <div className={styles.bar}>
          <h2>New version {base !== undefined && <span className="quiet">made of version {base}</span>}</h2>
          <button type="button" onClick={onEnd}>
            Discard
          </button>
          <button type="submit" className="primary" disabled={saving.isPending || isBlank}>
            {saving.isPending ? savingText : `Save as version ${newest + 1}`}
          </button>
        </div>
        {newest > (base ?? 0) && (
          <p className="quiet">Version {newest} is newer than the one that you began with; yours becomes the one after it.</p>
        )}
        {saving.error && <ErrorNote error={saving.error} />}
        {children}
      </form>
      {tryOut}
    </div>
  );
}
