import { useState } from 'react';
import { countText } from '../parts/format.ts';
import styles from './Payload.module.css';

/** Characters that are on the page at first, and more with each step: a browser lays out a million in a second. */
const FIRST = 20_000;
const MORE = 200_000;

/** A text of which as much is on the page as a person asks for. */
export function LongText({ text }: { text: string }) {
  const [shown, setShown] = useState(FIRST);
  if (text.length <= shown) return <pre className={styles.prose}>{text}</pre>;
  return (
    <>
      <pre className={styles.prose}>{text.slice(0, shown)}</pre>
      <button type="button" onClick={() => setShown(shown + MORE)}>
        Show more ({countText(text.length - shown)} characters are left)
      </button>
    </>
  );
}
