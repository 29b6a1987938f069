import styles from './Payload.module.css';
import { useSteps } from './useSteps.tsx';

/** A text of which as much is on the page as a person asks for. */
export function LongText({ text }: { text: string }) {
  const [shown, more] = useSteps(text.length, { first: 20_000, more: 200_000, left: 'characters are left' });
  return (
    <>
      <pre className={styles.prose}>{more === null ? text : text.slice(0, shown)}</pre>
      {more}
    </>
  );
}
