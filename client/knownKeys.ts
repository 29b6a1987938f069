import { ValueError } from './errors.ts';

/**
 * Refuses misspelt keys. A misspelt key would be read as an absent one: a limit would be lost, or a part of the rows become all of them. An instance
 * of a class may have any keys.
 * @param where the key that holds the object, where it is not the outermost
 * @throws ValueError naming the first unknown key and the known one that is nearest to it
 */
export function refuseUnknownKeys(given: unknown, known: readonly string[], where?: string): void {
  if (typeof given !== 'object' || given === null || Object.getPrototypeOf(given) !== Object.prototype) return;
  const unknown = Object.entries(given).find(([key, value]) => value !== undefined && !known.includes(key))?.[0];
  if (unknown === undefined) return;
  const nearest = nearestOf(unknown, known);
  const place = where ? ` in ${where}` : '';
  throw new ValueError(`unknown key ${JSON.stringify(unknown)}${place}; the nearest is ${JSON.stringify(nearest)}`);
}

/**
 * The one that is most like a name; undefined where there is none.
 * @param least pairs of letters that it must have in common with the name
 */
export function nearestOf(name: string, known: readonly string[], least = 0): string | undefined {
  const pairs = pairsOf(name);
  const common = (key: string) => pairsOf(key).filter((pair) => pairs.includes(pair)).length;
  const likeness = (key: string) => common(key) - key.length / 100;
  return known.filter((key) => common(key) >= least).sort((a, b) => likeness(b) - likeness(a))[0];
}

/** Letters with the one that follows: `name` has more in common with `experimentName` than with `gate`. */
const pairsOf = (key: string): string[] =>
  [...key.toLowerCase().replaceAll('_', '')].map((letter, at, all) => letter + (all[at + 1] ?? ''));
