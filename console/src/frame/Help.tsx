import { useEffect, useRef } from 'react';
import styles from './Help.module.css';

const keys = [
  [
    'Everywhere',
    [
      ['Ctrl-K', 'go to a project, a page or an id'],
      ['g p', 'projects'],
      ['g r', 'records of the project'],
      ['g e', 'experiments of the project'],
      ['g d', 'its datasets'],
      ['g q', 'annotation queues'],
      ['z', 'undo the last deletion'],
      ['?', 'these keys'],
    ],
  ],
  [
    'Records',
    [
      ['/', 'write a filter'],
      ['j k', 'next and previous record'],
      ['Enter', 'open its trace or session'],
      ['x', 'choose the open record'],
      ['← → then f, F', 'only records like this cell, or without them'],
      ['Esc', 'leave the filter, close the record, choose none'],
    ],
  ],
  [
    'Experiments',
    [
      ['/', 'write a filter'],
      ['j k', 'next and previous experiment'],
      ['x', 'choose it'],
      ['c', 'compare those that are chosen'],
      ['e', 'its name and tags'],
      ['Enter', 'open it, from the table'],
      ['Esc', 'choose none'],
    ],
  ],
  [
    'An experiment',
    [
      ['.', 'pause the run, or go on'],
      ['j k', 'next and previous row'],
      ['/', 'filter its rows'],
    ],
  ],
  [
    'Rows of a dataset',
    [
      ['Enter', 'change the cell, or read it whole'],
      ['Space', 'choose the row'],
      ['Del', 'empty the cell'],
      ['Ctrl-Z', 'take a change back; with Shift, do it again'],
      ['Ctrl-S', 'save all changes as one version'],
    ],
  ],
  ['The playground', [['Ctrl-Enter', 'ask all models, also while you type']]],
  [
    'A trace',
    [
      ['j k', 'next and previous span'],
      ['← →', 'close and open'],
      ['Esc', 'leave the field to find in'],
      ['[ ]', 'previous and next record of the list it was opened from'],
      ['e', 'next failure'],
      ['s', 'slowest'],
    ],
  ],
  [
    'A comparison',
    [
      ['n p', 'next and previous row'],
      ['j k', 'the same'],
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
