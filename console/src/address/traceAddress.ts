import { type ListAddress, listAddress } from './listAddress.ts';
import { text, texts, withoutEmpty } from './parameters.ts';

/** How a record is shown at the side; a conversation without it. */
export type DetailTab = 'talk' | 'text' | 'json';

/** The parameters of a trace's page. */
export interface TraceAddress {
  /** Id of the span that is shown. */
  span?: string | undefined;
  tab?: DetailTab | undefined;
  find?: string | undefined;
  /** Kinds of spans that are left out of the tree. */
  hide?: string[] | undefined;
  /** Absent where it was not opened from one. */
  list?: ListAddress | undefined;
}

export const detailTab = (given: unknown): DetailTab | undefined => (given === 'text' || given === 'json' ? given : undefined);

/** Reads the parameters of an address, whatever somebody wrote there. */
export const traceAddress = (given: Record<string, unknown>): TraceAddress =>
  withoutEmpty({
    span: text(given.span),
    tab: detailTab(given.tab),
    find: text(given.find),
    hide: texts(given.hide),
    list: listAddress(given.list),
  });
