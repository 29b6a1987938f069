import type { TraceOutline } from '../../../shared/wire/traceOutline.ts';

/** A record of a trace in its place: what tree, timeline and search look at. */
export interface OutlineRow {
  id: string;
  type: string;
  name: string;
  model: string | null;
  depth: number;
  /** Place of the row above it in the tree; -1 at the top. */
  parent: number;
  /** Rows below it, its own not counted. */
  size: number;
  /** Milliseconds from the start of the trace. */
  start: number;
  durationMs: number | undefined;
  tokens: number | undefined;
  cost: number | undefined;
  isFailed: boolean;
}

/** The records of a trace in the order of their tree, each before those below it. */
export function outlineRows({ columns }: Pick<TraceOutline, 'columns'>): OutlineRow[] {
  const rows: OutlineRow[] = [];
  columns.id.forEach((id, at) => {
    const parent = columns.parent[at] as number;
    const duration = figureOf(columns.duration_ns[at]);
    rows.push({
      id,
      type: columns.type[at] as string,
      name: columns.name[at] as string,
      model: columns.model[at] ?? null,
      depth: parent < 0 ? 0 : (rows[parent] as OutlineRow).depth + 1,
      parent,
      size: 0,
      start: Number(columns.start_us[at]) / 1_000,
      durationMs: duration === undefined ? undefined : duration / 1e6,
      tokens: figureOf(columns.num_total_tokens[at]),
      cost: figureOf(columns.cost[at]),
      isFailed: columns.failed[at] as boolean,
    });
  });
  for (let at = rows.length - 1; at > 0; at -= 1) {
    const row = rows[at] as OutlineRow;
    const above = rows[row.parent];
    if (above) above.size += row.size + 1;
  }
  return rows;
}

/** Whole numbers beyond 2^53 arrive as bigints. */
const figureOf = (figure: number | bigint | null | undefined): number | undefined =>
  figure === null || figure === undefined ? undefined : Number(figure);

/** Places of the rows that are on the screen: those below a closed one are left out, and those of a hidden kind, not what is below them. */
export function openPlaces(
  rows: readonly OutlineRow[],
  closed: ReadonlySet<string>,
  hiddenKinds: readonly string[] = [],
): number[] {
  const places: number[] = [];
  for (let at = 0; at < rows.length; at += 1) {
    const { id, type, size } = rows[at] as OutlineRow;
    if (at === 0 || !hiddenKinds.includes(type)) places.push(at);
    if (closed.has(id)) at += size;
  }
  return places;
}

/** The ids of those that are closed, when `ids` are closed or opened; the same set where nothing changes. */
export function folded(closed: ReadonlySet<string>, ids: readonly string[], isClosed: boolean): ReadonlySet<string> {
  if (ids.every((id) => closed.has(id) === isClosed)) return closed;
  const opened = new Set(isClosed ? [] : ids);
  return new Set(isClosed ? [...closed, ...ids] : [...closed].filter((id) => !opened.has(id)));
}

/** Milliseconds from the first start to the last end. */
export const spanOfTime = (rows: readonly OutlineRow[]): number =>
  rows.reduce((most, { start, durationMs = 0 }) => Math.max(most, start + durationMs), 1);

/** The place of the next row after `from`, around the end, that fits; -1 where none does. */
export function nextPlace(rows: readonly OutlineRow[], from: number, fits: (row: OutlineRow) => boolean): number {
  for (let step = 1; step <= rows.length; step += 1) {
    const at = (Math.max(from, -1) + step) % rows.length;
    if (fits(rows[at] as OutlineRow)) return at;
  }
  return -1;
}

/** The longest row that has none below it: where the time went. */
export function slowestPlace(rows: readonly OutlineRow[]): number {
  let slowest = -1;
  rows.forEach(({ size, durationMs = -1 }, at) => {
    if (size === 0 && durationMs > (rows[slowest]?.durationMs ?? -1)) slowest = at;
  });
  return slowest;
}

/** The kinds of a trace's spans, with how many of each there are and how many of those have others below them. */
export function kindsOf(rows: readonly OutlineRow[]): { kind: string; count: number; withOthers: number }[] {
  const kinds = new Map<string, { kind: string; count: number; withOthers: number }>();
  for (const { type, size } of rows) {
    if (type === 'trace') continue;
    const of = kinds.get(type) ?? { kind: type, count: 0, withOthers: 0 };
    of.count += 1;
    if (size > 0) of.withOthers += 1;
    kinds.set(type, of);
  }
  return [...kinds.values()];
}

/** Returns true when the name, kind, model or id of a row has the text, in any case of letters. */
export const hasText = ({ name, type, model, id }: OutlineRow, text: string): boolean => {
  const wanted = text.toLowerCase();
  return [name, type, model, id].some((value) => value?.toLowerCase().includes(wanted));
};
