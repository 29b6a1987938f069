import { useState } from 'react';
import { countText } from '../parts/format.ts';
import styles from './Payload.module.css';

/** Entries of a list or object that are on the page at first, and more with each step. */
const PIECE = 100;
const TEXT = 2_000;

/** A JSON value as a tree. What is closed is not built, so a large value costs what is seen of it. */
export function JsonTree({ value, depth = 0 }: { value: unknown; depth?: number }) {
  return (
    <div className={styles.json}>
      <Node value={value} name={undefined} depth={depth} />
    </div>
  );
}

function Node({ value, name, depth }: { value: unknown; name: string | undefined; depth: number }) {
  const [isOpen, setOpen] = useState(depth < 2);
  const [shown, setShown] = useState(PIECE);
  const label = name === undefined ? null : <span className={styles.name}>{name}: </span>;
  if (typeof value !== 'object' || value === null)
    return (
      <div className={styles.leaf}>
        {label}
        <Leaf value={value} />
      </div>
    );
  const isList = Array.isArray(value);
  const keys = isList ? undefined : Object.keys(value);
  const size = isList ? value.length : (keys as string[]).length;
  const names = isOpen ? Array.from({ length: Math.min(size, shown) }, (_, index) => keys?.[index] ?? String(index)) : [];
  return (
    <div>
      <button type="button" className={styles.toggle} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> {label}
        <span className="quiet">
          {isList ? `${countText(size)} in a list` : `${countText(size)} ${size === 1 ? 'key' : 'keys'}`}
        </span>
      </button>
      {isOpen && (
        <div className={styles.inner}>
          {names.map((key) => (
            <Node key={key} name={key} depth={depth + 1} value={(value as Record<string, unknown>)[key]} />
          ))}
          {size > names.length && (
            <button type="button" onClick={() => setShown(shown + 10 * PIECE)}>
              Show more ({countText(size - names.length)} are left)
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== 'string') return <span className={styles.literal}>{String(value)}</span>;
  const isCut = value.length > TEXT && !isWhole;
  return (
    <>
      <span className={styles.text}>{JSON.stringify(isCut ? value.slice(0, TEXT) : value)}</span>
      {isCut && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {countText(value.length)} characters
        </button>
      )}
    </>
  );
}
