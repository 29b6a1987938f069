import { type ReactNode, useMemo, useState } from 'react';
import { countText } from '../parts/format.ts';
import { useSteps } from '../payload/useSteps.tsx';
import { foldedParts, type ShownPart } from './foldedParts.ts';
import styles from './TextDiff.module.css';
import type { DiffPart, TextDiff as Found } from './textDiff.ts';
import { useTextDiff } from './useTextDiff.ts';

interface Props {
  before: string;
  after: string;
  /** The heading of each text. */
  labels: { before: ReactNode; after: ReactNode };
  /** Beside each other, or one text with what was removed and added in it. */
  layout?: 'sides' | 'inline';
}

/** Two texts with the words marked that differ. Long parts that are the same are left out until somebody asks. */
export function TextDiff({ before, after, labels, layout = 'sides' }: Props) {
  const diff = useTextDiff(before, after);
  const [isOpen, setOpen] = useState(false);
  const parts = useMemo(() => (diff ? foldedParts(diff.parts, isOpen) : undefined), [diff, isOpen]);
  const [shown, more] = useSteps(parts?.length ?? 0, { first: 2_000, more: 10_000, left: 'pieces are left' });
  if (!diff || !parts) return <p role="status">Comparing {countText(before.length + after.length)} characters …</p>;
  const some = parts.slice(0, shown);
  const open = () => setOpen(true);
  return (
    <div className={styles.diff}>
      <Notes diff={diff} />
      {layout === 'inline' ? (
        <Side
          label={
            <>
              {labels.before} → {labels.after}
            </>
          }
          parts={some}
          onOpen={open}
        />
      ) : (
        <div className={styles.sides}>
          <Side label={labels.before} parts={some.filter(({ kind }) => kind !== 'added')} onOpen={open} />
          <Side label={labels.after} parts={some.filter(({ kind }) => kind !== 'removed')} onOpen={open} />
        </div>
      )}
      {more}
      {isOpen && (
        <button type="button" onClick={() => setOpen(false)}>
          Leave out what is the same
        </button>
      )}
    </div>
  );
}

function Notes({ diff: { parts, notCompared } }: { diff: Found }) {
  const isSame = parts.every(({ kind }) => kind === 'same');
  return (
    <>
      {isSame && (
        <p role="status" className="quiet">
          Both are the same{parts.length === 0 ? ', and empty' : ''}.
        </p>
      )}
      {notCompared > 0 && (
        <p role="status" className={styles.cut}>
          {countText(notCompared)} characters are too many to compare word by word: they are marked as a whole.
        </p>
      )}
    </>
  );
}

function Side({ label, parts, onOpen }: { label: ReactNode; parts: readonly ShownPart[]; onOpen(): void }) {
  return (
    <section className={styles.side}>
      <h3>{label}</h3>
      {parts.length === 0 && <p className="quiet">an empty text</p>}
      <div className={styles.text}>
        {parts.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no ids, and their order is theirs
          <Part key={index} part={part} onOpen={onOpen} />
        ))}
      </div>
    </section>
  );
}

const tags = { same: 'span', removed: 'del', added: 'ins' } as const;

function Part({ part, onOpen }: { part: ShownPart; onOpen(): void }) {
  if (part.kind === 'left out')
    return (
      <button type="button" className={styles.left} onClick={onOpen}>
        {countText(part.text.length)} characters are the same
      </button>
    );
  return <PartText kind={part.kind} text={part.text} />;
}

function PartText({ kind, text }: DiffPart) {
  const [shown, more] = useSteps(text.length, { first: 20_000, more: 200_000, left: 'characters are left' });
  const Tag = tags[kind];
  return (
    <>
      <Tag>{more === null ? text : text.slice(0, shown)}</Tag>
      {more}
    </>
  );
}
