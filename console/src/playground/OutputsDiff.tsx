import { lazy, Suspense, useState } from 'react';
import { callOf, isUnderWay, outputOf, useStates } from './calls.ts';
import type { Column } from './draft.ts';
import { columnName } from './ModelColumn.tsx';
import styles from './Playground.module.css';

const TextDiff = lazy(async () => ({ default: (await import('../diff/TextDiff.tsx')).TextDiff }));

interface Props {
  columns: readonly Column[];
  /** Output of the record that the page was opened from. */
  recorded: string | undefined;
}

/** Two outputs with the words marked that differ, once there are two. */
export function OutputsDiff({ columns, recorded }: Props) {
  useStates(columns.map(({ id }) => id));
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<readonly [string | undefined, string | undefined]>([undefined, undefined]);
  const outputs = columns.flatMap((column, index) => {
    const call = callOf(column.id);
    const text = call && !isUnderWay(call) ? outputOf(call) : '';
    return text === '' ? [] : [{ id: column.id, name: columnName(column, index), text }];
  });
  const all = recorded ? [{ id: 'recorded', name: 'The record', text: recorded }, ...outputs] : outputs;
  if (all.length < 2 || outputs.length === 0) return null;
  const find = (id: string | undefined) => all.find((one) => one.id === id);
  const before = find(chosen[0]) ?? all[0];
  const after = find(chosen[1]) ?? all.find((one) => one !== before);
  const pick = (label: string, value: string | undefined, onPick: (id: string) => void) => (
    <label>
      {label}{' '}
      <select value={value} onChange={(event) => onPick(event.target.value)}>
        {all.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <section aria-label="Outputs compared" className={styles.compared}>
      <div className={styles.picker}>
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Compare outputs
        </button>
        {isOpen && pick('From', before?.id, (id) => setChosen([id, after?.id]))}
        {isOpen && pick('To', after?.id, (id) => setChosen([before?.id, id]))}
      </div>
      {isOpen && before && after && (
        <Suspense>
          <TextDiff before={before.text} after={after.text} labels={{ before: before.name, after: after.name }} />
        </Suspense>
      )}
    </section>
  );
}
