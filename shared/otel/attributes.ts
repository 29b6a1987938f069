import { jsonProblem } from '../wire/recordParts.ts';

/** The value of an attribute. Objects have no prototype, so that no key means anything by itself. */
export type AttributeValue = string | number | boolean | null | AttributeValue[] | { [key: string]: AttributeValue };

export type Tree = { [key: string]: AttributeValue };
type Structure = AttributeValue[] | Tree;

/** Of which attributes others are a part, and which name each of them has there. */
interface Whole {
  attributes: Attributes;
  names: ReadonlyMap<string, string>;
}

/** An item of a list: its attributes by the name that is left, and the whole names. */
interface Item {
  values: Map<string, AttributeValue>;
  names: Map<string, string>;
}

/** Items by the name of their list and their number in it. */
type Lists = ReadonlyMap<string, ReadonlyMap<number, Item>>;

/**
 * The attributes of a span, event or resource, or those of one item of a list. Names come from outside: they are only ever keys of maps. What was
 * read is remembered, so that the rest can be kept beside it.
 */
export class Attributes {
  readonly #values: ReadonlyMap<string, AttributeValue>;
  readonly #partOf: Whole | undefined;
  readonly #read = new Set<string>();
  /** Made when the first list is asked for: every form of lists looks for several. */
  #lists: Lists | undefined;

  constructor(values: ReadonlyMap<string, AttributeValue>, partOf?: Whole) {
    this.#values = values;
    this.#partOf = partOf;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** Whether any name begins so. */
  hasAny(prefix: string): boolean {
    for (const name of this.#values.keys()) if (name.startsWith(prefix)) return true;
    return false;
  }

  /** The first of these that is there and not empty. */
  get(...names: string[]): AttributeValue | undefined {
    for (const name of names) {
      const value = this.#values.get(name);
      if (value === undefined) continue;
      this.#mark(name);
      if (value !== null && value !== '') return value;
    }
    return undefined;
  }

  /** The value, which stays with the rest. */
  peek(name: string): AttributeValue | undefined {
    return this.#values.get(name);
  }

  /** As text: what is no text is written as JSON. */
  text(...names: string[]): string | undefined {
    const value = this.get(...names);
    return value === undefined ? undefined : textOf(value);
  }

  /** As text: the first that is not empty of those whose names end so, in the order of the endings. */
  textEndingWith(...endings: string[]): string | undefined {
    const names = endings.flatMap((ending) => [...this.#values.keys()].filter((name) => name.endsWith(ending)));
    return this.text(...names);
  }

  number(...names: string[]): number | undefined {
    return this.#firstNumber(names, () => true);
  }

  /** A whole number that counts something. */
  count(...names: string[]): number | undefined {
    return this.#firstNumber(names, (number) => Number.isSafeInteger(number) && number >= 0);
  }

  #firstNumber(names: readonly string[], fits: (number: number) => boolean): number | undefined {
    for (const name of names) {
      const value = this.#values.get(name);
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
      if (typeof number !== 'number' || !Number.isFinite(number) || !fits(number)) continue;
      this.#mark(name);
      return number;
    }
    return undefined;
  }

  /** The first of these that is a structure, or the JSON text of one. */
  structure(...names: string[]): Structure | undefined {
    return this.#firstStructure(names, (structure) => structure);
  }

  /** The first of these that is a list, or the JSON text of one. */
  list(...names: string[]): AttributeValue[] | undefined {
    return this.#firstStructure(names, (structure) => (Array.isArray(structure) ? structure : undefined));
  }

  /** The first of these that has values by name, or the JSON text of that. */
  tree(...names: string[]): Tree | undefined {
    return this.#firstStructure(names, (structure) => (Array.isArray(structure) ? undefined : structure));
  }

  #firstStructure<T extends Structure>(
    names: readonly string[],
    fitting: (structure: Structure) => T | undefined,
  ): T | undefined {
    for (const name of names) {
      const structure = structureOf(this.#values.get(name));
      const found = structure && fitting(structure);
      if (found === undefined) continue;
      this.#mark(name);
      return found;
    }
    return undefined;
  }

  /** Texts of a list, which may be written as JSON, or of a single value. */
  texts(...names: string[]): string[] {
    const value = this.structure(...names) ?? this.get(...names);
    if (value === undefined) return [];
    return (Array.isArray(value) ? value : [value]).flatMap((one) => (one === null ? [] : [textOf(one)]));
  }

  /** What stands under `prefix.0.`, `prefix.1.` and so on, in the order of the numbers; the prefix holds no number. */
  items(prefix: string): Attributes[] {
    this.#lists ??= listsIn(this.#values);
    const list = this.#lists.get(prefix);
    if (!list) return [];
    return [...list]
      .sort(([one], [other]) => one - other)
      .map(([, { values, names }]) => new Attributes(values, { attributes: this, names }));
  }

  #mark(name: string): void {
    this.#read.add(name);
    if (!this.#partOf) return;
    const whole = this.#partOf.names.get(name);
    if (whole !== undefined) this.#partOf.attributes.#mark(whole);
  }

  /** These say nothing that is worth keeping beside what was read. */
  markRead(...names: string[]): void {
    for (const name of names) this.#mark(name);
  }

  /** All of them, which are read then. */
  entries(): [string, AttributeValue][] {
    for (const name of this.#values.keys()) this.#mark(name);
    return [...this.#values];
  }

  /** What nobody has read. */
  rest(): [string, AttributeValue][] {
    const rest: [string, AttributeValue][] = [];
    for (const entry of this.#values) if (!this.#read.has(entry[0])) rest.push(entry);
    return rest;
  }
}

function listsIn(values: ReadonlyMap<string, AttributeValue>): Lists {
  const lists = new Map<string, Map<number, Item>>();
  for (const [name, value] of values) {
    const number = firstNumberIn(name);
    if (!number) continue;
    const list = name.slice(0, number.start - 1);
    const index = Number(name.slice(number.start, number.end));
    const items = lists.get(list) ?? new Map<number, Item>();
    lists.set(list, items);
    const item = items.get(index) ?? { values: new Map(), names: new Map() };
    items.set(index, item);
    const left = name.slice(number.end + 1);
    item.values.set(left, value);
    item.names.set(left, name);
  }
  return lists;
}

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

/** Text as it is, anything else as JSON. */
export const textOf = (value: AttributeValue): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A structure: as it is, or out of the JSON text that instrumentations write where attributes hold only plain values. */
export function structureOf(value: AttributeValue | undefined): Structure | undefined {
  const structure = typeof value === 'string' ? parseJson(value) : value;
  return typeof structure === 'object' && structure !== null ? structure : undefined;
}

/** The structure in a JSON text; undefined where there is none that could be stored. */
export function parseJson(text: string): AttributeValue | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    // Looking for the two is many times as fast as one expression of both.
    const isPlain = !text.includes('\\u') && !text.includes(PROTOTYPE);
    const value: unknown = isPlain ? JSON.parse(text) : JSON.parse(text, storable);
    return jsonProblem(value) === undefined ? (value as AttributeValue) : undefined;
  } catch {
    return undefined;
  }
}

/** Without half a surrogate pair, which JSON can spell and UTF-8 cannot hold, and without the key that readers of JSON take for the prototype. */
const storable = (name: string, value: unknown): unknown =>
  name === PROTOTYPE ? undefined : typeof value === 'string' ? value.toWellFormed() : value;
const PROTOTYPE = '__proto__';
