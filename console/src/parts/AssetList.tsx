import { type UseQueryOptions, useQuery } from '@tanstack/react-query';
import type { NavigateOptions } from '@tanstack/react-router';
import { memo, type ReactNode, useDeferredValue, useMemo } from 'react';
import type { AssetListAddress } from '../address/assetAddress.ts';
import type { AssetsQuestion } from '../data/assets.ts';
import { useGoing } from '../data/deletions.ts';
import { useProjectName } from '../data/projectName.ts';
import { ErrorNote } from './ErrorNote.tsx';
import styles from './ListPage.module.css';
import { EmptyNote, LoadingNote } from './notes.tsx';
import { RowLink } from './RowLink.tsx';
import { SortHead } from './SortHead.tsx';
import { Time } from './Time.tsx';
import { useTitle } from './useTitle.ts';

/** The fields that datasets and prompts have in common. */
interface Asset {
  id: string;
  name: string;
  updated_at: string;
  created_by_user: { email: string } | null;
  /** A dataset that is not finished. */
  draft?: boolean;
}

/** A column between the name and who made it. */
export interface AssetColumn<T> {
  label: string;
  className?: string;
  /** The name that the service sorts by; absent: it does not sort by this. */
  sort?: string;
  cell(one: T): ReactNode;
}

interface Page<T> {
  items: T[];
  hasMore: boolean;
}

interface Props<T extends Asset> {
  title: string;
  /** `dataset` */
  noun: string;
  projectId: string;
  address: AssetListAddress;
  onChange(changed: AssetListAddress, replace?: boolean): void;
  // biome-ignore lint/suspicious/noExplicitAny: the library infers the key's type at each question
  query(question: AssetsQuestion): UseQueryOptions<Page<T>, Error, Page<T>, any>;
  /** The same objects each time, as is the function below. */
  columns: readonly AssetColumn<T>[];
  /** Where one of them is shown. */
  pageOf(id: string, projectId: string): NavigateOptions;
  /** The buttons that make one. */
  actions: ReactNode;
  /** Teaches what they are, where there are none. */
  lesson: ReactNode;
}

/** Most that the list shows; the others are found by name. */
const MOST = 500;

/** The datasets or the prompts of a project and those that it uses: found by name, in the order of a column. */
export function AssetList<T extends Asset>({
  title,
  noun,
  projectId,
  address,
  onChange,
  query,
  columns,
  pageOf,
  ...parts
}: Props<T>) {
  useTitle(title, useProjectName(projectId));
  const { q = '', all = false, sort = '-updated_at' } = address;
  const name = useDeferredValue(q);
  const { data, error, refetch } = useQuery(query({ projectId: all ? undefined : projectId, name, sort, limit: MOST }));
  const going = useGoing();
  const items = data?.items.filter(({ id }) => !going.has(id)) ?? [];
  const head = { sort, onSort: (next: string) => onChange({ sort: next }) };
  return (
    <div className={styles.page}>
      <div className={styles.head}>
        <h1>{title}</h1>
        <label className={styles.check}>
          <input type="checkbox" checked={all} onChange={() => onChange({ all: all ? undefined : true })} />
          Of all projects
        </label>
        <input
          type="search"
          aria-label={`Find a ${noun}`}
          placeholder="Find by name"
          value={q}
          onChange={(event) => onChange({ q: event.target.value }, true)}
        />
        {parts.actions}
      </div>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what={title.toLowerCase()} />}
      {data && items.length === 0 && (
        <EmptyNote title={q === '' ? `No ${noun} yet` : `No ${noun} is called like “${q}”`}>{q === '' && parts.lesson}</EmptyNote>
      )}
      {items.length > 0 && (
        <table className={styles.table}>
          <thead>
            <tr>
              <SortHead column="name" label="Name" {...head} />
              {columns.map(({ label, className, sort: column }) =>
                column === undefined ? (
                  <th key={label} scope="col" className={className}>
                    {label}
                  </th>
                ) : (
                  <SortHead key={label} {...{ column, label, className }} isDescending {...head} />
                ),
              )}
              <th scope="col" className={styles.wide}>
                Made by
              </th>
              <SortHead column="updated_at" label="Changed" className="number" isDescending {...head} />
            </tr>
          </thead>
          <tbody>
            {items.map((one) => (
              <Row key={one.id} {...{ one, projectId, columns, pageOf }} />
            ))}
          </tbody>
        </table>
      )}
      {data?.hasMore && <p className="quiet">There are more: type a part of the name.</p>}
    </div>
  );
}

interface RowProps<T extends Asset> extends Pick<Props<T>, 'projectId' | 'columns' | 'pageOf'> {
  one: T;
}

/** One of them. It is not built anew with each letter of a search. */
const Row = memo(function Row<T extends Asset>({ one, projectId, columns, pageOf }: RowProps<T>) {
  const { id, name, draft, created_by_user: by, updated_at: at } = one;
  const page = useMemo(() => pageOf(id, projectId), [pageOf, id, projectId]);
  return (
    <tr>
      <td>
        <RowLink page={page} className={styles.name}>
          {name}
        </RowLink>
        {draft && <span className="quiet"> draft</span>}
      </td>
      {columns.map(({ label, className, cell }) => (
        <td key={label} className={className}>
          {cell(one)}
        </td>
      ))}
      <td className={`quiet ${styles.wide}`}>{by?.email ?? '–'}</td>
      <td className="number">
        <Time at={at} />
      </td>
    </tr>
  );
}) as <T extends Asset>(props: RowProps<T>) => ReactNode;
