import { CopyButton } from '../parts/CopyButton.tsx';
import styles from './Settings.module.css';

interface Props {
  label: string;
  /** A secret that no other answer of the service shows. */
  secret: string;
  note: string;
  onClose(): void;
}

/** A secret that was just made, until the person says that they have it, or leaves the page. */
export function ShownOnce({ label, secret, note, onClose }: Props) {
  return (
    <section className={styles.result} aria-label={label} role="status">
      <p>
        <strong>{label}</strong>: {note}
      </p>
      <code className={styles.secret}>{secret}</code>
      <div className={styles.buttons}>
        <CopyButton label="Copy it" text={() => secret} />
        <button type="button" onClick={onClose}>
          I have it
        </button>
      </div>
    </section>
  );
}
