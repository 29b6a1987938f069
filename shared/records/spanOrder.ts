/** Where a span stands among the others of its trace. */
export interface SpanPlace {
  id: string;
  parentId: string | null;
  /** Canonical time. */
  createdAt: string;
  stepNumber: number | null;
  /** Rises with every record written. */
  version: number;
}

/** The order of spans below one parent: by their start; of those that began at once, by their step, then as they were logged. */
export const inOrder = (a: Omit<SpanPlace, 'id' | 'parentId'>, b: Omit<SpanPlace, 'id' | 'parentId'>): number =>
  compare(a.createdAt, b.createdAt) || (a.stepNumber ?? 0) - (b.stepNumber ?? 0) || a.version - b.version;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * The spans of one trace as one list, in the order in which they ran: by their start, but none before its parent, whatever the clocks say. Of spans that
 * began at once, those below one come right behind it. A loop of parents is entered at its first span.
 */
export function inRunOrder<T>(spans: readonly T[], placeOf: (span: T) => SpanPlace): T[] {
  const placed = spans.map((span) => ({ span, place: placeOf(span), from: '' })).sort((a, b) => inOrder(a.place, b.place));
  const known = new Set(placed.map(({ place }) => place.id));
  const children = Map.groupBy(placed, ({ place }) => place.parentId ?? undefined);
  const walked = new Set<(typeof placed)[number]>();
  const walk = (top: (typeof placed)[number]): void => {
    const open = [{ one: top, notBefore: '' }];
    for (let next = open.pop(); next; next = open.pop()) {
      const { one, notBefore } = next;
      if (walked.has(one)) continue;
      walked.add(one);
      one.from = compare(one.place.createdAt, notBefore) > 0 ? one.place.createdAt : notBefore;
      const below = children.get(one.place.id) ?? [];
      for (let at = below.length - 1; at >= 0; at--) open.push({ one: below[at] as typeof one, notBefore: one.from });
    }
  };
  for (const one of placed) if (one.place.parentId === null || !known.has(one.place.parentId)) walk(one);
  for (const one of placed) walk(one);
  return [...walked].sort((a, b) => compare(a.from, b.from)).map(({ span }) => span);
}
