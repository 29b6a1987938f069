import { text, texts, withoutEmpty } from './parameters.ts';
import { type DetailTab, detailTab } from './traceAddress.ts';

/** The parameters of the records page: everything that a copied link must show again. */
export interface RecordsAddress {
  /** Id of a log stream or experiment; the newest log stream without it. */
  run?: string | undefined;
  experiment?: string | undefined;
  kind?: 'spans' | 'sessions' | undefined;
  /** The filter's text. */
  q?: string | undefined;
  /** `24h` ago, or a time in UTC. */
  from?: string | undefined;
  to?: string | undefined;
  /** A column; with a minus before it, the largest first. */
  sort?: string | undefined;
  /** Ids of the columns, in their order. */
  cols?: string[] | undefined;
  /** Ids of the columns that stay at the left. */
  pin?: string[] | undefined;
  /** Id of the saved view that was opened last; what it says is in the other parameters. */
  view?: string | undefined;
  /** Id of the record in the side panel. */
  open?: string | undefined;
  tab?: DetailTab | undefined;
  /** Says what comes meanwhile. */
  live?: 'on' | undefined;
}

/** Reads the parameters of a table of records, which several pages have. */
export const tableAddress = (given: Record<string, unknown>): Pick<RecordsAddress, 'q' | 'sort' | 'cols' | 'pin' | 'open'> => ({
  q: text(given.q),
  sort: text(given.sort),
  cols: texts(given.cols),
  pin: texts(given.pin),
  open: text(given.open),
});

/** Reads the parameters of an address, whatever somebody wrote there. */
export function recordsAddress(given: Record<string, unknown>): RecordsAddress {
  return withoutEmpty({
    ...tableAddress(given),
    run: text(given.run),
    experiment: text(given.experiment),
    kind: given.kind === 'spans' || given.kind === 'sessions' ? given.kind : undefined,
    from: text(given.from),
    to: text(given.to),
    view: text(given.view),
    tab: detailTab(given.tab),
    live: given.live === 'on' ? 'on' : undefined,
  });
}
