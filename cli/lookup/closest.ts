import { closestNames } from '../../shared/identifiers/closestNames.ts';
import { editDistance } from '../../shared/identifiers/editDistance.ts';

/** Returns the end of a message about an unknown name: the existing name that looks most like it. Empty where none is like it. */
export function closestHint(name: string, known: readonly string[]): string {
  const wanted = name.trim().toLowerCase();
  const [closest] = closestNames(name, known, 1).filter((each) => isNear(wanted, each.toLowerCase()));
  const found = closest ?? known.find((each) => wanted !== '' && each.toLowerCase().includes(wanted));
  return found === undefined ? '' : `; the closest is ${JSON.stringify(found)}`;
}

/** Half of the letters are right. */
const isNear = (wanted: string, known: string): boolean =>
  2 * editDistance(wanted, known) <= Math.max(wanted.length, known.length);
