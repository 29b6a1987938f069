import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useId, useRef } from 'react';
import { ErrorNote } from './ErrorNote.tsx';
import styles from './ListPage.module.css';
import { useTextOfPage } from './useDraft.ts';

interface Props {
  /** The label of the button, and the heading of the dialog. */
  title: string;
  /** The label of the button that sends; `Make it` without it. */
  action?: string;
  /** The label of the field; `Name` without it. */
  label?: string;
  name?: string;
  maxLength?: number;
  className?: string;
  onName(name: string): Promise<unknown>;
  children?: ReactNode;
}

/** A button, and the dialog that asks for a name, of at most 128 characters unless it is said. */
export function NewNamed({
  title,
  action = 'Make it',
  label = 'Name',
  name,
  maxLength = 128,
  className = 'primary',
  onName,
  children,
}: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  const [text, setText] = useTextOfPage(title, name ?? '');
  const naming = useMutation({
    mutationFn: onName,
    onSuccess() {
      setText(name ?? '');
      dialog.current?.close();
    },
  });
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    naming.mutate(text.trim());
  };
  return (
    <>
      <button type="button" className={className} onClick={() => dialog.current?.showModal()}>
        {title}
      </button>
      <dialog ref={dialog} aria-labelledby={headingId} closedby="any">
        <form className={styles.form} onSubmit={send}>
          <h2 id={headingId}>{title}</h2>
          <label>
            {label}
            <input
              name="name"
              required
              pattern=".*\S.*"
              maxLength={maxLength}
              value={text}
              onChange={(event) => setText(event.target.value)}
              autoComplete="off"
            />
          </label>
          {children}
          {naming.error && <ErrorNote error={naming.error} />}
          <div className={styles.buttons}>
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="submit" className="primary" disabled={naming.isPending}>
              {action}
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
