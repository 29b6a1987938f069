import { errorOf } from '../../../shared/records/failed.ts';
import type { RecordNode } from '../data/records.ts';

/** A record of a trace in its place: what tree, timeline and search look at. */
export interface OutlineRow {
  node: RecordNode;
  depth: number;
  /** Place of the row above it in the tree; -1 for the root. */
  parent: number;
  /** Rows below it, its own not counted. */
  size: number;
  /** Milliseconds from the start of the trace; undefined for a time that cannot be read. */
  start: number | undefined;
  durationMs: number | undefined;
  isFailed: boolean;
}

/** The records of a trace in the order of their tree, each before those below it. */
export function outlineOf(root: RecordNode): OutlineRow[] {
  const rows: OutlineRow[] = [];
  const origin = Date.parse(String(root.created_at));
  // Without recursion: a trace may nest deeper than the stack.
  const open: { node: RecordNode; depth: number; parent: number }[] = [{ node: root, depth: 0, parent: -1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth, parent } = next;
    const at = rows.length;
    const began = Date.parse(String(node.created_at));
    const nanoseconds = (node.metrics as { duration_ns?: unknown } | undefined)?.duration_ns;
    rows.push({
      ...{ node, depth, parent, size: 0 },
      start: Number.isNaN(began) || Number.isNaN(origin) ? undefined : began - origin,
      durationMs: typeof nanoseconds === 'number' || typeof nanoseconds === 'bigint' ? Number(nanoseconds) / 1e6 : undefined,
      isFailed: errorOf(node as Parameters<typeof errorOf>[0]) !== undefined,
    });
    for (const child of (node.spans ?? []).toReversed()) open.push({ node: child, depth: depth + 1, parent: at });
  }
  for (let at = rows.length - 1; at > 0; at -= 1) {
    const row = rows[at] as OutlineRow;
    const above = rows[row.parent];
    if (above) above.size += row.size + 1;
  }
  return rows;
}

/** Places of the rows that are on the screen: those below a closed one are left out, and those of a hidden kind, not what is below them. */
export function openPlaces(
  rows: readonly OutlineRow[],
  closed: ReadonlySet<string>,
  hiddenKinds: readonly string[] = [],
): number[] {
  const places: number[] = [];
  for (let at = 0; at < rows.length; at += 1) {
    const { node, size } = rows[at] as OutlineRow;
    if (at === 0 || !hiddenKinds.includes(node.type)) places.push(at);
    if (closed.has(node.id)) at += size;
  }
  return places;
}

/** Milliseconds from the first start to the last end. */
export const spanOfTime = (rows: readonly OutlineRow[]): number =>
  Math.max(1, ...[rows.reduce((most, { start = 0, durationMs = 0 }) => Math.max(most, start + durationMs), 0)]);

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
  for (const { node, size } of rows.slice(1)) {
    const of = kinds.get(node.type) ?? { kind: node.type, count: 0, withOthers: 0 };
    of.count += 1;
    if (size > 0) of.withOthers += 1;
    kinds.set(node.type, of);
  }
  return [...kinds.values()];
}
