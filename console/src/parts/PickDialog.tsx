import { type UseQueryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type KeyboardEvent, type ReactNode, useDeferredValue, useEffect, useId, useRef, useState } from 'react';
import { ErrorNote } from './ErrorNote.tsx';
import styles from './PickDialog.module.css';

interface Named {
  id: string;
  name: string;
}

interface Props<T extends Named> {
  title: string;
  /** Finds the choices by a part of their name. */
  query(name: string): UseQueryOptions<T[], Error, T[], string[]>;
  /** Makes one of this name. @returns its id */
  create(name: string): Promise<string>;
  onPick(id: string, name: string): Promise<void>;
  detail(one: T): string;
  onClose(): void;
  /** Choices beside the one of what is picked. */
  children?: ReactNode;
}

/** A dialog that opens at once, in which one of many things is chosen by its name, or a new one is made of the name that was typed. */
export function PickDialog<T extends Named>({ title, query, create, onPick, detail, onClose, children }: Props<T>) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const [name, setName] = useState('');
  const headingId = useId();
  const { data = [], error } = useQuery(query(useDeferredValue(name)));
  const client = useQueryClient();
  /** An Enter may come before the list: what has the name already is not made again. */
  const idOf = async (called: string): Promise<string> =>
    (await client.fetchQuery(query(called))).find((one) => one.name === called)?.id ?? create(called);
  const picking = useMutation({
    mutationFn: async ({ id, name: called }: { id: string | undefined; name: string }) =>
      onPick(id ?? (await idOf(called)), called),
    onSuccess: () => dialog.current?.close(),
  });
  const typed = name.trim();
  const exact = data.find((one) => one.name === typed);
  const send = (event: FormEvent) => {
    event.preventDefault();
    const first = exact ?? (typed === '' ? data[0] : undefined);
    if (first) picking.mutate(first);
    else if (typed !== '') picking.mutate({ id: undefined, name: typed });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLFormElement>) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const stops = [...event.currentTarget.querySelectorAll<HTMLElement>('input, [data-choice]')];
    stops[stops.indexOf(document.activeElement as HTMLElement) + step]?.focus();
  };
  return (
    <dialog ref={dialog} aria-labelledby={headingId} closedby="any" onClose={onClose}>
      <form className={styles.form} onSubmit={send} onKeyDown={onKeyDown}>
        <h2 id={headingId}>{title}</h2>
        <input
          aria-label="Find or name one"
          placeholder="Find, or name a new one"
          value={name}
          maxLength={128}
          onChange={(event) => setName(event.target.value)}
        />
        {children}
        {(error ?? picking.error) && <ErrorNote error={error ?? picking.error} />}
        <div className={styles.list}>
          {data.slice(0, 50).map((one) => (
            <button key={one.id} type="button" data-choice className="plain item" onClick={() => picking.mutate(one)}>
              <span className="one-line">{one.name}</span>
              <span className="quiet">{detail(one)}</span>
            </button>
          ))}
          {typed !== '' && !exact && (
            <button type="submit" data-choice className="plain item" disabled={picking.isPending}>
              Make “{typed}”
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
