import { endOfText } from './endOfText.ts';

/** A value in a JSON text: from its first character to behind its last. */
export interface JsonPiece {
  start: number;
  end: number;
}

export interface JsonEntry extends JsonPiece {
  /** The key as it is written; absent in a list. */
  name: string | undefined;
}

const QUOTE = 34;
const BLANK = /[ \t\n\r]*/y;
/** A number or word. */
const PLAIN = /[^\s,\]}"[{:]+/y;

/**
 * Returns the entries of the object or list that opens at `start`, without reading what is in them, and where it ends. Undefined where the text is no JSON
 * down to these entries.
 */
export function entriesAt(text: string, start: number): { entries: JsonEntry[]; end: number } | undefined {
  const isList = text[start] === '[';
  const close = isList ? ']' : '}';
  const entries: JsonEntry[] = [];
  let at = behind(BLANK, text, start + 1);
  if (text[at] === close) return { entries, end: at + 1 };
  for (;;) {
    let name: string | undefined;
    if (!isList) {
      if (text[at] !== '"') return undefined;
      const end = endOfText(text, at) + 1;
      name = text.slice(at, end);
      at = behind(BLANK, text, end);
      if (text[at] !== ':') return undefined;
      at = behind(BLANK, text, at + 1);
    }
    const end = endOfValue(text, at);
    if (end === undefined) return undefined;
    entries.push({ name, start: at, end });
    at = behind(BLANK, text, end);
    if (text[at] === close) return { entries, end: at + 1 };
    if (text[at] !== ',') return undefined;
    at = behind(BLANK, text, at + 1);
  }
}

/** The object or list that a text is, with its entries; undefined for any other text. */
export function jsonPieceOf(text: string): (JsonPiece & { entries: JsonEntry[] }) | undefined {
  const start = behind(BLANK, text, 0);
  if (!isBranch(text, start)) return undefined;
  const found = entriesAt(text, start);
  return found && behind(BLANK, text, found.end) === text.length ? { start, ...found } : undefined;
}

export const isBranch = (text: string, at: number): boolean => text[at] === '{' || text[at] === '[';

/** Without recursion, as deep as it nests. */
function endOfValue(text: string, start: number): number | undefined {
  if (text[start] === '"') return withinText(text, endOfText(text, start) + 1);
  if (!isBranch(text, start)) {
    const end = behind(PLAIN, text, start);
    return end > start ? end : undefined;
  }
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at);
    // [ and { are two before ] and }, and differ from all others that stand outside of texts.
    else if (code === 91 || code === 123) depth += 1;
    else if (code === 93 || code === 125) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}

const withinText = (text: string, end: number): number | undefined => (end <= text.length ? end : undefined);

function behind(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
