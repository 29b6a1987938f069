/**
 * JSON as models write it: with commas behind the last member, single or typographic quotes, names without quotes, Python's `True` and `None`, line
 * breaks in texts, backslashes before any character, remarks between members, figures such as `80%`. What could be read in two ways (a quote inside a text of such quotes, a
 * name that comes twice with other values) is not read at all.
 */
export function looseObjectAt(text: string, start: number): { object: Record<string, unknown>; end: number } | undefined {
  const reader = new Reader(text, start);
  try {
    return { object: reader.object(0), end: reader.at };
  } catch (err) {
    if (err instanceof Unreadable) return undefined;
    throw err;
  }
}

class Unreadable extends Error {}
/** One for all: to note where it was thrown takes most of the time of a text full of stray braces. */
const unreadable = new Unreadable();

const MAX_DEPTH = 20;
const CLOSING: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”', '‘': '’' };
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const SAME: ReadonlySet<string> = new Set(['"', "'", '\\', '/', '\n']);
const CONSTANTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['none', null],
]);

class Reader {
  at: number;
  readonly #text: string;

  constructor(text: string, start: number) {
    this.#text = text;
    this.at = start;
  }

  object(depth: number): Record<string, unknown> {
    const members = new Map<string, unknown>();
    this.#list('{', '}', depth, () => {
      const name = this.#isQuote() ? this.#string() : this.#match(/[\p{L}_$][\p{L}\p{N}_$]*/uy);
      this.#space();
      this.#take(':');
      const value = this.#value(depth);
      if (members.has(name) && JSON.stringify(members.get(name)) !== JSON.stringify(value)) throw unreadable;
      members.set(name, value);
    });
    return Object.fromEntries(members);
  }

  #value(depth: number): unknown {
    this.#space();
    const next = this.#text[this.at];
    if (next === '{') return this.object(depth + 1);
    if (next === '[') {
      const items: unknown[] = [];
      this.#list('[', ']', depth + 1, () => items.push(this.#value(depth + 1)));
      return items;
    }
    return this.#isQuote() ? this.#string() : this.#word();
  }

  #list(open: string, close: string, depth: number, item: () => void): void {
    if (depth > MAX_DEPTH) throw unreadable;
    this.#take(open);
    for (;;) {
      this.#space();
      if (this.#text[this.at] === close) break;
      item();
      this.#space();
      if (this.#text[this.at] !== ',') break;
      this.at++;
    }
    this.#take(close);
  }

  /** A constant, a number, or one word or figure that has forgotten its quotes. */
  #word(): unknown {
    const word = this.#match(/[\p{L}\p{N}_+\-.%/]+/uy);
    const constant = CONSTANTS.get(word.toLowerCase());
    if (constant !== undefined) return constant;
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word) ? Number(word) : word;
  }

  #string(): string {
    const close = CLOSING[this.#text[this.at] as string];
    let read = '';
    for (this.at++; this.at < this.#text.length; this.at++) {
      const char = this.#text[this.at] as string;
      if (char === close) {
        this.at++;
        return read;
      }
      read += char === '\\' ? this.#escaped() : char;
    }
    throw unreadable;
  }

  /** A backslash that escapes nothing, as in `\(x\)`, is one itself. */
  #escaped(): string {
    const char = this.#text[++this.at] ?? '';
    const hex = char === 'u' ? /^[\da-f]{4}/i.exec(this.#text.slice(this.at + 1, this.at + 5)) : null;
    if (hex) {
      this.at += 4;
      return String.fromCharCode(Number.parseInt(hex[0], 16));
    }
    return ESCAPES[char] ?? (SAME.has(char) ? char : `\\${char}`);
  }

  #isQuote(): boolean {
    return Object.hasOwn(CLOSING, this.#text[this.at] ?? '');
  }

  /** White space, and remarks as JavaScript has them. */
  #space(): void {
    this.#match(/(?:\s|\/\/[^\n]{0,1000}\n|\/\*(?:(?!\*\/).){0,1000}\*\/)*/sy);
  }

  #take(char: string): void {
    if (this.#text[this.at] !== char) throw unreadable;
    this.at++;
  }

  #match(sticky: RegExp): string {
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.#text);
    if (!found) throw unreadable;
    this.at = sticky.lastIndex;
    return found[0];
  }
}
