interface Props {
  column: string;
  label: string;
  /** The column that the list is in the order of; with a minus before it, the largest first. */
  sort: string;
  /** Said where a first click puts the largest first. */
  isDescending?: boolean;
  className?: string | undefined;
  onSort(sort: string): void;
}

/** The head of a column by which a list can be put in order, by a click; another turns it round. */
export function SortHead({ column, label, sort, isDescending = false, className, onSort }: Props) {
  const isSorted = sort.replace(/^-/, '') === column;
  const isDown = isSorted ? sort.startsWith('-') : isDescending;
  const next = (isSorted ? !isDown : isDescending) ? `-${column}` : column;
  return (
    <th scope="col" className={className} {...(isSorted ? { 'aria-sort': isDown ? 'descending' : 'ascending' } : {})}>
      <button type="button" onClick={() => onSort(next)}>
        {label}
        {isSorted && <span aria-hidden="true"> {isDown ? '↓' : '↑'}</span>}
      </button>
    </th>
  );
}
