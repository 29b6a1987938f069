import styles from './KindMark.module.css';

/** Shows the kind of a record by its colour and its word. */
export function KindMark({ kind }: { kind: string }) {
  return (
    <span className={styles.mark} data-kind={kind}>
      {kind}
    </span>
  );
}
