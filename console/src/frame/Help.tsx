import { useEffect, useRef } from 'react';
import styles from './Help.module.css';

const keys = [
  [
    'Everywhere',
    [
      ['Ctrl-K', 'go to a project, a page or an id'],
      ['g p', 'projects'],
      ['g r', 'records of the project'],
      ['?', 'these keys'],
    ],
  ],
  [
    'Records',
    [
      ['/', 'write a filter'],
      ['j k', 'next and previous record'],
      ['x', 'choose the open record'],
      ['← → then f, F', 'only records like this cell, or without them'],
      ['Esc', 'close the record, choose none'],
    ],
  ],
  [
    'A trace',
    [
      ['j k', 'next and previous span'],
      ['← →', 'close and open'],
      ['e', 'next failure'],
      ['s', 'slowest'],
    ],
  ],
  [
    'A record',
    [
      ['1 2 3', 'conversation, text, JSON'],
      ['a q', 'to an annotation queue'],
      ['a d', 'to a dataset'],
      ['r', 'answer the questions of its queues'],
      ['y Y', 'copy its id, its link'],
    ],
  ],
] as const;

/** The keys of every page. */
export function Help({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="keys" closedby="any" onClose={onClose} className={styles.help}>
      <h2 id="keys">Keys</h2>
      {keys.map(([place, bound]) => (
        <section key={place}>
          <h3>{place}</h3>
          <dl>
            {bound.map(([key, does]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
