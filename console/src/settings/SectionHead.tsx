import type { ReactNode } from 'react';
import { useTitle } from '../parts/useTitle.ts';
import styles from './Settings.module.css';

/** The heading of a section, which names the window, too. */
export function SectionHead({ title, children }: { title: string; children?: ReactNode }) {
  useTitle(title, 'Settings');
  return (
    <div className={styles.head}>
      <h1>{title}</h1>
      {children}
    </div>
  );
}
