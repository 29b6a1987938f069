import { type DetailTab, detailTab } from './traceAddress.ts';

/** What the address of the records page holds: everything that a copied link must show again. */
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

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;

function texts(value: unknown): string[] | undefined {
  const all = Array.isArray(value) ? value.flatMap((one) => text(one) ?? []) : [];
  return all.length > 0 ? all : undefined;
}

/** Reads the parameters of an address, whatever somebody wrote there. */
export function recordsAddress(given: Record<string, unknown>): RecordsAddress {
  const read: RecordsAddress = {
    run: text(given.run),
    experiment: text(given.experiment),
    kind: given.kind === 'spans' || given.kind === 'sessions' ? given.kind : undefined,
    q: text(given.q),
    from: text(given.from),
    to: text(given.to),
    sort: text(given.sort),
    cols: texts(given.cols),
    pin: texts(given.pin),
    view: text(given.view),
    open: text(given.open),
    tab: detailTab(given.tab),
    live: given.live === 'on' ? 'on' : undefined,
  };
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
}
