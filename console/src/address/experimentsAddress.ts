import { text, texts, withoutEmpty } from './parameters.ts';

/** The parameters of the experiments page: everything that a copied link must show again. */
export interface ExperimentsAddress {
  /** The filter's text. */
  q?: string | undefined;
  /** Id of a group: only its experiments, with their trend. */
  group?: string | undefined;
  /** Name of a series: only its experiments, with their trend. */
  series?: string | undefined;
  /** A column; with a minus before it, the largest first. The newest experiment is first without it. */
  sort?: string | undefined;
  /** Ids of the columns, in their order. */
  cols?: string[] | undefined;
  /** Ids of the experiments that are chosen, in the order of choosing. */
  pick?: string[] | undefined;
  /** Id of the experiment that the keys act on. */
  at?: string | undefined;
  /** The metric of the trend. */
  trend?: string | undefined;
  /** The key of the tag whose changes the trend shows. */
  mark?: string | undefined;
}

/** Reads the parameters of an address, whatever somebody wrote there. */
export function experimentsAddress(given: Record<string, unknown>): ExperimentsAddress {
  return withoutEmpty({
    q: text(given.q),
    group: text(given.group),
    series: text(given.series),
    sort: text(given.sort),
    cols: texts(given.cols),
    pick: texts(given.pick),
    at: text(given.at),
    trend: text(given.trend),
    mark: text(given.mark),
  });
}
