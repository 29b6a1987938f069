import { useState } from 'react';
import styles from './ColumnsMenu.module.css';
import { Icon } from './Icon.tsx';

interface Named {
  id: string;
  label: string;
}

interface Props {
  catalog: readonly Named[];
  shown: readonly Named[];
  /** Ids of those that stay at the left; without it none does. */
  pin?: readonly string[];
  onChange(changed: { cols?: string[] | undefined; pin?: string[] | undefined }): void;
  /** Says that there may be a column of this id although the catalog lacks it. */
  isOther?(id: string): boolean;
}

/** Lets the reader choose the columns of the table, and their order. */
export function ColumnsMenu(props: Props) {
  const [isOpen, setOpen] = useState(false);
  const [wanted, setWanted] = useState('');
  return (
    <>
      <button type="button" popoverTarget="columns" className="iconed">
        <Icon name="columns" />
        Columns
      </button>
      <div
        popover="auto"
        id="columns"
        className={`menu ${styles.columns}`}
        onBeforeToggle={({ newState }) => newState === 'open' && setOpen(true)}
        onToggle={({ newState }) => setOpen(newState === 'open')} // as it closes, the browser moves the focus out of it
      >
        {isOpen && <Columns {...props} wanted={wanted} onWanted={setWanted} />}
      </div>
    </>
  );
}

/** As many as a run has keys, so they are on the page only while the menu is open. */
function Columns(props: Props & { wanted: string; onWanted(text: string): void }) {
  const { catalog, shown, pin, onChange, isOther, wanted, onWanted } = props;
  const ids = shown.map(({ id }) => id);
  const set = (cols: string[] | undefined) => onChange({ cols });
  const setPinned = (id: string, pinned: readonly string[]) =>
    onChange({ pin: pinned.includes(id) ? pinned.filter((one) => one !== id) : [...pinned, id] });
  const others = catalog.filter(
    ({ id, label }) => !ids.includes(id) && `${id} ${label}`.toLowerCase().includes(wanted.toLowerCase()),
  );
  const moved = (index: number) =>
    ids.map((id, at) => (at === index - 1 ? ids[index] : at === index ? ids[index - 1] : id) as string);
  return (
    <>
      {shown.map(({ id, label }, index) => (
        <div key={id} className={styles.column}>
          <label>
            <input type="checkbox" checked disabled={ids.length === 1} onChange={() => set(ids.filter((one) => one !== id))} />
            <span className="one-line">{label}</span>
          </label>
          {pin && (
            <button
              type="button"
              className="plain"
              aria-pressed={pin.includes(id)}
              aria-label={`Keep ${label} at the left`}
              onClick={() => setPinned(id, pin)}
            >
              <Icon name="pin" />
            </button>
          )}
          <button
            type="button"
            className="plain"
            aria-disabled={index === 0} // and keeps the focus, which a column brings there step by step
            aria-label={`Move ${label} to the left`}
            onClick={() => index > 0 && set(moved(index))}
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
        onChange={(event) => onWanted(event.target.value)}
      />
      {others.slice(0, 50).map(({ id, label }) => (
        <div key={id} className={styles.column}>
          <label>
            <input type="checkbox" checked={false} onChange={() => set([...ids, id])} />
            <span className="one-line">{label}</span>
          </label>
        </div>
      ))}
      {isOther?.(wanted) && (
        <button type="button" onClick={() => set([...ids, wanted])}>
          Show {wanted}
        </button>
      )}
      <button type="button" onClick={() => onChange({ cols: undefined, pin: undefined })}>
        As usual
      </button>
    </>
  );
}
