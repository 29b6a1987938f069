import type { ReactNode } from 'react';
import styles from './notes.module.css';

/** A page without content says how to get some. */
export function EmptyNote({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={styles.empty}>
      <h1>{title}</h1>
      {children}
    </section>
  );
}

export function LoadingNote({ what }: { what: string }) {
  return (
    <p role="status" className={styles.loading}>
      Loading {what} …
    </p>
  );
}
