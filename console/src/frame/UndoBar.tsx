import { type Deletion, deleteNow, takeBack, useDeletions } from '../data/deletions.ts';
import { sentenceOf } from '../parts/ErrorNote.tsx';
import { useNotice } from '../parts/notice.ts';
import { useKeys } from '../parts/useKeys.ts';
import styles from './Frame.module.css';

/** Shows the last actions, and deletions as long as they can be taken back. */
export function UndoBar() {
  const deletions = useDeletions().filter(({ state }) => state !== 'sent');
  const notice = useNotice();
  useKeys({
    z: () => {
      const last = deletions.findLast(({ state }) => state === 'waiting');
      if (last) takeBack(last);
    },
  });
  return (
    <div role="status" className={styles.notices}>
      {notice !== undefined && <div className={styles.notice}>{notice}</div>}
      {deletions.map((one, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they have no ids, and the newest is last
        <DeletionNotice key={index} deletion={one} />
      ))}
    </div>
  );
}

function DeletionNotice({ deletion }: { deletion: Deletion }) {
  if (deletion.state === 'failed')
    return (
      <div className={styles.notice}>
        <span className="bad">
          {deletion.text} could not be deleted: {sentenceOf(deletion.error)}
        </span>
        <button type="button" onClick={() => void deleteNow(deletion)}>
          Try again
        </button>
        <button type="button" onClick={() => takeBack(deletion)}>
          Leave it
        </button>
      </div>
    );
  return (
    <div className={styles.notice}>
      <span>{deletion.text} deleted</span>
      <button type="button" title="Undo (z)" onClick={() => takeBack(deletion)}>
        Undo
      </button>
      <button type="button" className="plain" onClick={() => void deleteNow(deletion)}>
        Now
      </button>
    </div>
  );
}
