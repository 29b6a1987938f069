import styles from './KindMark.module.css';

/** The kind of a record, told apart by colour and word. */
export function KindMark({ kind }: { kind: string }) {
  return (
    <span className={styles.mark} data-kind={kind}>
      {kind}
    </span>
  );
}
