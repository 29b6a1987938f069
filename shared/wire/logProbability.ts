import { isExact } from './exactNumber.ts';

/** A log probability as an endpoint or a record says it; undefined for what is none. */
export function logProbabilityIn(given: unknown): number | undefined {
  const value = isExact(given) ? Number(given) : given;
  return typeof value === 'number' && value <= 0 ? value : undefined;
}
