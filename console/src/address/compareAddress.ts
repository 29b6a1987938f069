import { text, texts, withoutEmpty } from './parameters.ts';

/** Filters of the listed rows; all rows without one, the largest loss first. */
export const rowFilters = ['worse', 'better', 'changed', 'failed', 'missing', 'content_changed'] as const;
export type RowFilter = (typeof rowFilters)[number];

/** The address of a comparison holds everything that a copied link must show again. */
export interface CompareAddress {
  /** Id of the baseline. */
  base?: string | undefined;
  /** Ids of the experiments that are compared with it. */
  with?: string[] | undefined;
  /** Id of the one of them whose rows are shown; the first one without it. */
  of?: string | undefined;
  /** Ids of the metrics that are compared, and corrected for; all without it. */
  only?: string[] | undefined;
  /** Id of the metric that rows are ordered by. */
  metric?: string | undefined;
  rows?: RowFilter | undefined;
  /** Column by whose values rows are compared apart. */
  slice?: string | undefined;
  /** A value of it, whose rows alone are listed. */
  value?: string | undefined;
  /** Id of a trace of the row that is open; the first row of the list without it. */
  open?: string | undefined;
  /** The other side of the diff; without it, the outputs are compared with each other. */
  against?: 'reference' | undefined;
}

/** Reads the parameters of an address, whatever somebody wrote there. */
export function compareAddress(given: Record<string, unknown>): CompareAddress {
  const base = text(given.base);
  return withoutEmpty({
    base,
    with: texts(given.with)?.filter((id) => id !== base),
    of: text(given.of),
    only: texts(given.only),
    metric: text(given.metric),
    rows: rowFilters.find((filter) => filter === given.rows),
    slice: text(given.slice),
    value: text(given.value),
    open: text(given.open),
    against: given.against === 'reference' ? 'reference' : undefined,
  });
}
