/** A text that grows at its end, in blocks that stay as they are and one that grows: a page that shows it changes the last one alone. */
export interface GrowingText {
  /** Each ends with a line break. */
  blocks: readonly string[];
  tail: string;
}

export const noText: GrowingText = { blocks: [], tail: '' };

/** Characters from which on a block ends at the end of its line. */
const BLOCK = 2_000;

export function grownBy({ blocks, tail }: GrowingText, piece: string): GrowingText {
  const grown = tail + piece;
  if (grown.length < BLOCK) return { blocks, tail: grown };
  const full: string[] = [];
  let from = 0;
  while (grown.length - from >= BLOCK) {
    // The whole of what came at once may have many blocks.
    const end = grown.indexOf('\n', from + BLOCK - 1) + 1 || grown.lastIndexOf('\n') + 1;
    if (end <= from) break;
    full.push(grown.slice(from, end));
    from = end;
  }
  return { blocks: full.length > 0 ? [...blocks, ...full] : blocks, tail: grown.slice(from) };
}

export const textOf = ({ blocks, tail }: GrowingText): string => blocks.join('') + tail;
