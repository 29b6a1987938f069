import { editDistance } from '../metrics/editDistance.ts';

/** Longer texts are cut: what is typed wrong is no book. */
const MAX_CHARACTERS = 255;

/** Those of `known` that look most like `name`, whatever their case; the closest first, each once. */
export function closestNames(name: string, known: readonly string[], count = 3): string[] {
  const wanted = name.trim().toLowerCase().slice(0, MAX_CHARACTERS);
  return [...new Set(known)]
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map(({ candidate }) => candidate);
}
