/** How a record is shown at the side; a conversation without it. */
export type DetailTab = 'talk' | 'text' | 'json';

/** What the address of a trace's page holds. */
export interface TraceAddress {
  /** Id of the span that is shown. */
  span?: string | undefined;
  tab?: DetailTab | undefined;
  find?: string | undefined;
  /** Kinds of spans that are left out of the tree. */
  hide?: string[] | undefined;
}

export const detailTab = (given: unknown): DetailTab | undefined => (given === 'text' || given === 'json' ? given : undefined);

export function traceAddress(given: Record<string, unknown>): TraceAddress {
  const tab = detailTab(given.tab);
  const hide = Array.isArray(given.hide) ? given.hide.map(String) : [];
  return {
    ...(typeof given.span === 'string' ? { span: given.span } : {}),
    ...(tab ? { tab } : {}),
    ...(given.find !== undefined && given.find !== '' ? { find: String(given.find) } : {}),
    ...(hide.length > 0 ? { hide } : {}),
  };
}
