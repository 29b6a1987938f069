import { countText } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import styles from './KindsMenu.module.css';
import { kindsOf, type OutlineRow } from './outline.ts';

interface Props {
  rows: readonly OutlineRow[];
  hidden: readonly string[];
  onHidden(kinds: string[]): void;
  /** Closes or opens all of these. */
  onFold(ids: readonly string[], isClosed: boolean): void;
}

/** Lets the reader choose the kinds of spans that the tree shows, and those that are folded to one row. */
export function KindsMenu({ rows, hidden, onHidden, onFold }: Props) {
  const idsOf = (kind?: string) =>
    rows.filter(({ type, size }) => size > 0 && (kind === undefined || type === kind)).map(({ id }) => id);
  return (
    <>
      <button type="button" popoverTarget="kinds">
        Kinds{hidden.length > 0 && ` (${hidden.length} hidden)`}
      </button>
      <div popover="auto" id="kinds" className={`menu ${styles.kinds}`}>
        {kindsOf(rows).map(({ kind, count, withOthers }) => (
          <div key={kind}>
            <label>
              <input
                type="checkbox"
                checked={!hidden.includes(kind)}
                onChange={() => onHidden(hidden.includes(kind) ? hidden.filter((one) => one !== kind) : [...hidden, kind])}
              />
              <KindMark kind={kind} />
              <span className="quiet">{countText(count)}</span>
            </label>
            {withOthers > 0 && (
              <>
                <button
                  type="button"
                  className="plain"
                  aria-label={`Close each ${kind}`}
                  onClick={() => onFold(idsOf(kind), true)}
                >
                  Close
                </button>
                <button
                  type="button"
                  className="plain"
                  aria-label={`Open each ${kind}`}
                  onClick={() => onFold(idsOf(kind), false)}
                >
                  Open
                </button>
              </>
            )}
          </div>
        ))}
        <button type="button" onClick={() => onFold(idsOf(), false)}>
          Open all
        </button>
      </div>
    </>
  );
}
