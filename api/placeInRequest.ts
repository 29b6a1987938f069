import type { InvalidItem, Named } from '../shared/errors/errors.ts';

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
export function placeInRequest(parts: RequestParts, named: Named | undefined): InvalidItem['loc'] {
  const place = named && (named.below === undefined ? placeIn(parts, named.texts) : placeBelow(parts, named.below, named.texts));
  if (place) return place;
  if ('body' in parts) return ['body'];
  const parameter = Object.keys(parts.path ?? {}).at(-1);
  return parameter === undefined ? ['query'] : ['path', parameter];
}

function placeBelow({ body }: RequestParts, key: string, texts: readonly string[]): InvalidItem['loc'] | undefined {
  const place = placeIn((body as Record<string, unknown> | null | undefined)?.[key], texts);
  return place && ['body', key, ...place];
}

function placeIn(value: unknown, texts: readonly string[]): InvalidItem['loc'] | undefined {
  if (typeof value === 'string') return texts.includes(value) ? [] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    // What a filter compares with names nothing, whatever it says.
    const below = key === 'value' ? undefined : placeIn(inner, texts);
    if (below) return [Array.isArray(value) ? Number(key) : key, ...below];
  }
  return undefined;
}
