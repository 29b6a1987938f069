/** Layouts that are kept; beyond them all are forgotten, and made anew as they come. They take some megabytes. */
const MAX_LAYOUTS = 8_192;
/** Longer names, and longer rows of them, are not kept: they come from outside, and their memory must be bounded. */
const MAX_NAME = 128;
const MAX_NAMES = 128;

/** One item of a list: which attributes are parts of it, by their positions in the whole, and the layout of what is left of their names. */
export interface ListItem {
  layout: AttributeLayout;
  positions: readonly number[];
}

/**
 * The names of attributes in the order in which they came. Spans of one instrumentation have the same names in the same order, so what follows from
 * the names alone is found once for all of them: the position of each name, and the lists that are written as `prefix.0.name`.
 */
export class AttributeLayout {
  readonly #names: string[];
  /** True for the layout of one span alone, which grows itself. */
  readonly #isOwn: boolean;
  readonly #longer = new Map<string, AttributeLayout>();
  /** The one that was asked for last, which is mostly the only one. */
  #lastName: string | undefined;
  #last: AttributeLayout | undefined;
  #positions: Map<string, number> | undefined;
  #lists: ReadonlyMap<string, readonly ListItem[]> | undefined;
  readonly #prefixes = new Map<string, boolean>();
  readonly #derived = new Map<unknown, unknown>();

  private constructor(names: string[], isOwn: boolean) {
    this.#names = names;
    this.#isOwn = isOwn;
  }

  static #empty = new AttributeLayout([], false);
  static #kept = 0;

  static get empty(): AttributeLayout {
    return AttributeLayout.#empty;
  }

  get length(): number {
    return this.#names.length;
  }

  /** By their positions. */
  get names(): readonly string[] {
    return this.#names;
  }

  /** The layout with one more name behind the others; it is as long as before where the name is in it. */
  with(name: string): AttributeLayout {
    if (name === this.#lastName && this.#last) return this.#last;
    if (this.#isOwn) return this.#grow(name);
    const longer = this.#longer.get(name) ?? this.#make(name);
    if (!longer.#isOwn) {
      this.#lastName = name;
      this.#last = longer;
    }
    return longer;
  }

  #make(name: string): AttributeLayout {
    if (this.#names.includes(name)) return this;
    if (name.length > MAX_NAME || this.length === MAX_NAMES) return new AttributeLayout([...this.#names], true).#grow(name);
    if (AttributeLayout.#kept === MAX_LAYOUTS) {
      AttributeLayout.#empty = new AttributeLayout([], false);
      AttributeLayout.#kept = 0;
    }
    AttributeLayout.#kept++;
    const longer = new AttributeLayout([...this.#names, name], false);
    this.#longer.set(name, longer);
    return longer;
  }

  #grow(name: string): AttributeLayout {
    if (this.positions.has(name)) return this;
    this.#positions?.set(name, this.#names.push(name) - 1);
    this.#lists = undefined;
    this.#prefixes.clear();
    this.#derived.clear();
    return this;
  }

  /** Where each name stands. */
  get positions(): ReadonlyMap<string, number> {
    this.#positions ??= new Map(this.#names.map((name, position) => [name, position]));
    return this.#positions;
  }

  /** Returns whether any name begins so. @param prefix one of the service's own, not of the attributes */
  hasAny(prefix: string): boolean {
    let hasAny = this.#prefixes.get(prefix);
    if (hasAny === undefined) {
      hasAny = this.#names.some((name) => name.startsWith(prefix));
      this.#prefixes.set(prefix, hasAny);
    }
    return hasAny;
  }

  /** Returns what `derive` makes of the names: it depends on nothing else. */
  derived<T>(derive: (names: readonly string[]) => T): T {
    if (!this.#derived.has(derive)) this.#derived.set(derive, derive(this.#names));
    return this.#derived.get(derive) as T;
  }

  /** Returns what stands under `prefix.0.`, `prefix.1.` and so on, in the order of the numbers; the prefix holds no number. */
  items(prefix: string): readonly ListItem[] {
    this.#lists ??= listsIn(this.#names);
    return this.#lists.get(prefix) ?? [];
  }
}

function listsIn(names: readonly string[]): ReadonlyMap<string, readonly ListItem[]> {
  const lists = new Map<string, Map<number, Map<string, number>>>();
  for (const [position, name] of names.entries()) {
    const number = firstNumberIn(name);
    if (!number) continue;
    const list = name.slice(0, number.start - 1);
    const index = Number(name.slice(number.start, number.end));
    const items = lists.get(list) ?? new Map<number, Map<string, number>>();
    lists.set(list, items);
    const item = items.get(index) ?? new Map<string, number>();
    items.set(index, item.set(name.slice(number.end + 1), position));
  }
  return new Map([...lists].map(([list, items]) => [list, inOrder(items)]));
}

const inOrder = (items: ReadonlyMap<number, ReadonlyMap<string, number>>): ListItem[] =>
  [...items]
    .sort(([one], [other]) => one - other)
    .map(([, positions]) => ({
      layout: [...positions.keys()].reduce((layout, name) => layout.with(name), AttributeLayout.empty),
      positions: [...positions.values()],
    }));

/** Where the first part of a dotted name is a number of at most nine digits, and not the first part. */
function firstNumberIn(name: string): { start: number; end: number } | undefined {
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const start = dot + 1;
    let end = start;
    while (isDigit(name.charCodeAt(end))) end++;
    const isWhole = end === name.length || name[end] === '.';
    if (isWhole && end > start && end - start <= 9) return { start, end };
  }
  return undefined;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;
