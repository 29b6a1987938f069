/** What the address of a trace's page holds. */
export interface TraceAddress {
  /** Id of the span that is shown. */
  span?: string | undefined;
  tab?: 'json' | undefined;
  find?: string | undefined;
}

export function traceAddress(given: Record<string, unknown>): TraceAddress {
  return {
    ...(typeof given.span === 'string' ? { span: given.span } : {}),
    ...(given.tab === 'json' ? { tab: given.tab } : {}),
    ...(given.find !== undefined && given.find !== '' ? { find: String(given.find) } : {}),
  };
}
