import type { InvalidItem, Named } from '../../shared/errors/errors.ts';

/** The parts of a request as they came, by the names that `loc` gives them. A part that the route does not have is absent. */
export interface RequestParts {
  body?: unknown;
  query?: unknown;
  path?: Record<string, unknown>;
}

/**
 * Where a request names what is wrong. Where it does not, as when a stored setting is at fault: its body, or for a request without one the last
 * parameter of its path.
 */
export function pathInRequest(parts: RequestParts, named: Named | undefined): InvalidItem['loc'] {
  const path = named && (named.below === undefined ? pathIn(parts, named) : pathBelow(parts, named.below, named));
  if (path) return path;
  if ('body' in parts) return ['body'];
  const parameter = Object.keys(parts.path ?? {}).at(-1);
  return parameter === undefined ? ['query'] : ['path', parameter];
}

function pathBelow({ body }: RequestParts, key: string, named: Named): InvalidItem['loc'] | undefined {
  const path = pathIn((body as Record<string, unknown> | null | undefined)?.[key], named);
  return path && ['body', key, ...path];
}

/** The place of the first of the texts that is there. */
function pathIn(value: unknown, { texts, isPart = false }: Named): InvalidItem['loc'] | undefined {
  for (const text of texts) {
    const path = isPart ? pathOfPart(value, text) : pathOf(value, text);
    if (path) return path;
  }
  return undefined;
}

function pathOf(value: unknown, text: string): InvalidItem['loc'] | undefined {
  if (typeof value === 'string') return value === text ? [] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    // The value that a filter compares with is data: a name in it is not meant.
    const below = key === 'value' ? undefined : pathOf(inner, text);
    if (below) return [Array.isArray(value) ? Number(key) : key, ...below];
  }
  return undefined;
}

function pathOfPart(value: unknown, part: string): InvalidItem['loc'] | undefined {
  if (typeof value === 'string') return value.includes(part) ? [] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const below = key.includes(part) ? [] : pathOfPart(inner, part);
    if (below) return [Array.isArray(value) ? Number(key) : key, ...below];
  }
  return undefined;
}
