import { useState } from 'react';
import type { Column } from '../data/records.ts';
import { Icon } from '../parts/Icon.tsx';
import styles from './RecordsPage.module.css';
import type { ShownColumn } from './recordColumns.ts';
import { useRecordsAddress } from './useRecordsView.ts';

/** Which columns the table has, and in which order. */
export function ColumnsMenu({ catalog, shown }: { catalog: readonly Column[]; shown: readonly ShownColumn[] }) {
  const [{ pin = [] }, change] = useRecordsAddress();
  const [wanted, setWanted] = useState('');
  const ids = shown.map(({ id }) => id);
  const set = (cols: string[] | undefined) => change({ cols }, { replace: true });
  const setPinned = (id: string) =>
    change({ pin: pin.includes(id) ? pin.filter((one) => one !== id) : [...pin, id] }, { replace: true });
  const others = catalog.filter(
    ({ id, label }) => !ids.includes(id) && `${id} ${label}`.toLowerCase().includes(wanted.toLowerCase()),
  );
  const moved = (index: number) =>
    ids.map((id, at) => (at === index - 1 ? ids[index] : at === index ? ids[index - 1] : id) as string);
  return (
    <>
      <button type="button" popoverTarget="columns" className="iconed">
        <Icon name="columns" />
        Columns
      </button>
      <div popover="auto" id="columns" className={`menu ${styles.columns}`}>
        {shown.map(({ id, label }, index) => (
          <div key={id} className={styles.column}>
            <label>
              <input type="checkbox" checked disabled={ids.length === 1} onChange={() => set(ids.filter((one) => one !== id))} />
              <span className="one-line">{label}</span>
            </label>
            <button
              type="button"
              className="plain"
              aria-pressed={pin.includes(id)}
              aria-label={`Keep ${label} at the left`}
              onClick={() => setPinned(id)}
            >
              <Icon name="pin" />
            </button>
            <button
              type="button"
              className="plain"
              disabled={index === 0}
              aria-label={`Move ${label} to the left`}
              onClick={() => set(moved(index))}
            >
              <Icon name="up" />
            </button>
          </div>
        ))}
        <input
          type="search"
          aria-label="Find a column"
          placeholder="More columns"
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
        />
        {others.slice(0, 50).map(({ id, label }) => (
          <div key={id} className={styles.column}>
            <label>
              <input type="checkbox" checked={false} onChange={() => set([...ids, id])} />
              <span className="one-line">{label}</span>
            </label>
          </div>
        ))}
        {/^(user|dataset)_metadata\/./.test(wanted) && (
          <button type="button" onClick={() => set([...ids, wanted])}>
            Show {wanted}
          </button>
        )}
        <button type="button" onClick={() => change({ cols: undefined, pin: undefined }, { replace: true })}>
          As usual
        </button>
      </div>
    </>
  );
}
