import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import lists from '../parts/ListPage.module.css';

interface Props {
  title: string;
  /** The label of the button that does it. */
  action: string;
  /** Must be typed, letter by letter, where it cannot be taken back and much goes. */
  typed?: string;
  onConfirm(): Promise<unknown>;
  onClose(): void;
  /** The consequences. */
  children: ReactNode;
}

/** Asks before something that cannot be taken back. */
export function ConfirmDialog({ title, action, typed, onConfirm, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  const [text, setText] = useState('');
  const doing = useMutation({ mutationFn: onConfirm, onSuccess: () => dialog.current?.close() });
  useEffect(() => dialog.current?.showModal(), []);
  const isMeant = typed === undefined || text === typed;
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (isMeant) doing.mutate();
  };
  return (
    <dialog ref={dialog} aria-labelledby={headingId} closedby="any" onClose={onClose}>
      <form className={lists.form} onSubmit={send}>
        <h2 id={headingId}>{title}</h2>
        {children}
        {typed !== undefined && (
          <label>
            Type {typed} to confirm
            <input autoComplete="off" spellCheck={false} value={text} onChange={({ target }) => setText(target.value)} />
          </label>
        )}
        {doing.error && <ErrorNote error={doing.error} />}
        <div className={lists.buttons}>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={!isMeant || doing.isPending}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
