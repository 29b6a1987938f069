import type { ReactNode } from 'react';
import list from './ListPage.module.css';
import { Time } from './Time.tsx';
import styles from './VersionTable.module.css';

interface Column<V> {
  name: string;
  /** Wide columns are left out of narrow windows. */
  kind?: 'wide' | 'wide number' | undefined;
  cell(version: V): ReactNode;
}

interface Props<V> {
  /** Newest first. */
  versions: readonly V[];
  numberOf(version: V): number;
  /** Number of the version that is looked at. */
  current: number | undefined;
  /** A word behind the number, such as "default". */
  mark?(version: V): string | undefined;
  /** Columns between the number of a version and its time. */
  columns: readonly Column<V>[];
  actions(version: V): ReactNode;
}

/** The versions of a dataset, a prompt or a metric, a row each. */
export function VersionTable<V extends { created_at: string }>(props: Props<V>) {
  const { versions, numberOf, current, mark, columns, actions } = props;
  return (
    <section className={styles.scrolled} aria-label="Versions">
      <table className={list.table}>
        <thead>
          <tr>
            <th scope="col">Version</th>
            {columns.map(({ name, kind }) => (
              <th key={name} scope="col" className={classOf(kind)}>
                {name}
              </th>
            ))}
            <th scope="col" className="number">
              When
            </th>
            <th scope="col">
              <span className="only-read">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {versions.map((one) => (
            <tr key={numberOf(one)} aria-current={numberOf(one) === current ? 'true' : undefined}>
              <td>
                {numberOf(one)}
                {mark?.(one) && <span className="quiet"> {mark(one)}</span>}
              </td>
              {columns.map(({ name, kind, cell }) => (
                <td key={name} className={kind === 'wide' ? `quiet ${list.wide}` : classOf(kind)}>
                  {cell(one)}
                </td>
              ))}
              <td className="number">
                <Time at={one.created_at} />
              </td>
              <td className={styles.actions}>{actions(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const classOf = (kind: Column<never>['kind']) =>
  kind === undefined ? undefined : kind === 'wide' ? list.wide : `number ${list.wide}`;
