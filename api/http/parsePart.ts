import type { z } from 'zod';
import { type InvalidItem, LISTED_PROBLEMS, RequestInvalid } from '../../shared/errors/errors.ts';
import { atFirstProblem } from '../../shared/wire/atFirstProblem.ts';
import { isExact } from '../../shared/wire/exactNumber.ts';
import { LOCATION_CHARACTERS, unknownKeyItems } from './unknownKeys.ts';

/** Values of a body up to which all its problems are looked for: with 20 required fields in each that takes up to a second. */
const SEARCHED_VALUES = 10_000;

/**
 * A part of a request as its schema reads it.
 * @param body where a key of a query may have been meant for
 * @throws RequestInvalid with the problems, of a large part only with the first
 */
export function parsePart(schema: z.ZodType, value: unknown, where: 'path' | 'query' | 'body', body?: z.ZodType): unknown {
  const first = readPart(schema, value);
  if (first.success) return first.data;
  const isSearched = holdsAtMost(value, SEARCHED_VALUES);
  const issues = (isSearched ? schema.safeParse(value).error?.issues : undefined) ?? first.error.issues;
  const items: InvalidItem[] = [];
  let more = 0;
  for (const read of issues.flatMap((one) => plainIssues(one))) {
    const issue = { ...read, path: pathInValue(value, read.path) };
    const left = LISTED_PROBLEMS - items.length;
    if (read.code === 'unrecognized_keys') {
      items.push(
        ...unknownKeyItems({ ...read, keys: read.keys.slice(0, left) }, location(where, issue.path), schema, value, body),
      );
      more += Math.max(0, read.keys.length - left);
    } else if (left > 0) items.push(invalidItem(issue, where));
    else more += 1;
  }
  throw new RequestInvalid(items, isSearched ? more : 'unknown');
}

/** Times that a part is read again after numbers in it were rounded; then all are. */
const ROUNDINGS = 10;

/** Parses a value. A schema that takes a number, and not any value, reckons with it: an exact number becomes a double there, in the value as well. */
function readPart(schema: z.ZodType, value: unknown) {
  for (let roundings = 0; ; roundings++) {
    const read = schema.safeParse(value, atFirstProblem);
    if (read.success || roundings > ROUNDINGS) return read;
    const refused = pathsIn(read.error.issues).map((path) => pathInValue(value, path));
    const isRounded = refused.map((path) => roundAt(value, path, 0)).includes(true);
    if (!isRounded) return read;
    if (roundings === ROUNDINGS) roundAll(value);
  }
}

const pathsIn = (issues: readonly z.core.$ZodIssue[], prefix: readonly PropertyKey[] = []): PropertyKey[][] =>
  issues.flatMap((issue) => {
    const path = [...prefix, ...issue.path];
    return [path, ...(issue.code === 'invalid_union' ? issue.errors.flatMap((errors) => pathsIn(errors, path)) : [])];
  });

/** Rounds what stands at the path, and at the same place in the other members of a list. @returns whether that was an exact number */
function roundAt(container: unknown, path: readonly PropertyKey[], depth: number): boolean {
  if (typeof container !== 'object' || container === null || depth === path.length) return false;
  const members = container as Record<PropertyKey, unknown>;
  const keys = Array.isArray(container) ? container.keys() : [path[depth] as PropertyKey];
  let isRounded = false;
  for (const key of keys) {
    if (!Object.hasOwn(members, key)) continue;
    const inner = members[key];
    if (!isExact(inner)) isRounded = roundAt(inner, path, depth + 1) || isRounded;
    else if (depth + 1 === path.length) {
      members[key] = Number(inner);
      isRounded = true;
    }
  }
  return isRounded;
}

/** Iterative, since bodies may nest deeply. */
function roundAll(value: unknown): void {
  const open = [value];
  for (let container = open.pop(); container; container = open.pop())
    for (const [key, inner] of Object.entries(container)) {
      if (isExact(inner)) (container as Record<string, unknown>)[key] = Number(inner);
      else if (typeof inner === 'object' && inner !== null) open.push(inner);
    }
}

/** Stops at one more than `most`. Iterative, since bodies may nest deeply. */
function holdsAtMost(value: unknown, most: number): boolean {
  const open = [value];
  for (let count = 0; open.length > 0; ) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null || ArrayBuffer.isView(next)) continue;
    const inner = Object.values(next);
    count += inner.length;
    if (count > most) return false;
    open.push(...inner);
  }
  return true;
}

/**
 * Where the request has what a schema has read: a leaf of a filter may stand bare, and is read as if it were wrapped in `filter`; it and a sort may call
 * their column `name`.
 */
function pathInValue(value: unknown, path: readonly PropertyKey[]): PropertyKey[] {
  const found: PropertyKey[] = [];
  let at = value;
  for (const [index, read] of path.entries()) {
    const members = typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>) : undefined;
    if (read === 'filter' && index < path.length - 1 && members && !('filter' in members)) continue;
    const key = read === 'column_id' && members && members.column_id == null && members.name != null ? 'name' : read;
    found.push(key);
    at = members?.[key];
  }
  return found;
}

/** A problem by itself. Where no member of a union fits, those of the member that came nearest (fewest problems, deepest). */
function plainIssues(issue: z.core.$ZodIssue, prefix: PropertyKey[] = []): z.core.$ZodIssue[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const nearest = [...issue.errors].sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0] ?? [];
    if (depth(nearest) > 0) return nearest.flatMap((inner) => plainIssues(inner, path));
  }
  return [{ ...issue, path }];
}

function invalidItem(issue: z.core.$ZodIssue, where: string): InvalidItem {
  const loc = location(where, issue.path);
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const expected = issue.errors.flat().map((one) => ('expected' in one ? String(one.expected) : one.message));
    return { loc, msg: `none of the accepted forms fits: ${[...new Set(expected)].join(', ')}`, type: issue.code };
  }
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined'))
    return { loc, msg: issue.path.length > 0 ? 'this field is required' : `a ${where} is required`, type: 'missing' };
  return { loc, msg: issue.message, type: issue.code };
}

/** How deep in the value the deepest of these problems lies. */
function depth(issues: readonly z.core.$ZodIssue[]): number {
  const below = (issue: z.core.$ZodIssue) => (issue.code === 'invalid_union' ? Math.max(0, ...issue.errors.map(depth)) : 0);
  return Math.max(0, ...issues.map((issue) => issue.path.length + below(issue)));
}

const location = (where: string, path: PropertyKey[]): (string | number)[] => [
  where,
  ...path.map((key) => (typeof key === 'number' ? key : String(key).slice(0, LOCATION_CHARACTERS))),
];
