import type { ReactNode } from 'react';
import styles from './notes.module.css';

interface EmptyNoteProps {
  title: string;
  /** It is the whole page, which has no other heading. */
  isPage?: boolean;
  children: ReactNode;
}

/** A page or part of one without content says how to get some. */
export function EmptyNote({ title, isPage = false, children }: EmptyNoteProps) {
  const Heading = isPage ? 'h1' : 'h2';
  return (
    <section className={styles.empty}>
      <Heading>{title}</Heading>
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
