import type { DiffPart } from './textDiff.ts';

/** A part as it is shown: of a long text that is the same, what is around the changes, and between them how much is left out. */
export type ShownPart = DiffPart | { kind: 'left out'; text: string };

/** Characters around a change. */
const AROUND = 240;
/** Fewer are not worth a button. */
const WORTH = 400;

/** @param isOpen shows all */
export function foldedParts(parts: readonly DiffPart[], isOpen: boolean): ShownPart[] {
  if (isOpen) return [...parts];
  return parts.flatMap((part, index): ShownPart[] => {
    if (part.kind !== 'same') return [part];
    const first = index === 0 ? 0 : placeOfSpace(part.text, AROUND, 1);
    const last = index === parts.length - 1 ? part.text.length : placeOfSpace(part.text, part.text.length - AROUND, -1);
    // Equal texts show their beginning only.
    const from = parts.length === 1 ? placeOfSpace(part.text, 2 * AROUND, 1) : first;
    if (last - from < WORTH) return [part];
    const pieces: ShownPart[] = [
      { kind: 'same', text: part.text.slice(0, from) },
      { kind: 'left out', text: part.text.slice(from, last) },
      { kind: 'same', text: part.text.slice(last) },
    ];
    return pieces.filter(({ text }) => text !== '');
  });
}

/** The next place behind a space, within some characters. */
function placeOfSpace(text: string, at: number, step: 1 | -1): number {
  const start = Math.min(Math.max(at, 0), text.length);
  for (let moved = 0, place = start; moved < 40 && place > 0 && place < text.length; moved++, place += step)
    if (/\s/.test(text[place - 1] ?? '')) return place;
  return start;
}
