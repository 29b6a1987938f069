import { editDistance } from './editDistance.ts';

/** Longer texts are cut: what is typed wrong is no book. */
const MAX_CHARACTERS = 255;

/** Counts the characters that one text is off another, whatever their case. */
const distanceOf = (wanted: string, candidate: string): number => editDistance(wanted, candidate.toLowerCase());
const wantedOf = (name: string): string => name.trim().toLowerCase().slice(0, MAX_CHARACTERS);

/** Those of `known` that look most like `name`, whatever their case; the closest first, each once. */
export function closestNames(name: string, known: readonly string[], count = 3): string[] {
  const wanted = wantedOf(name);
  return [...new Set(known)]
    .map((candidate) => ({ candidate, distance: distanceOf(wanted, candidate) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map(({ candidate }) => candidate);
}

/** The one of `known` that a new name may have been meant for: it is at most two characters off, one where the name is short. */
export function meantName(name: string, known: readonly string[]): string | undefined {
  const wanted = wantedOf(name);
  const most = wanted.length < 4 ? 1 : 2;
  const near = known.filter((candidate) => Math.abs(candidate.length - wanted.length) <= most + 1);
  return closestNames(name, near, 1).find((candidate) => distanceOf(wanted, candidate) <= most);
}
