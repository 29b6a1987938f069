import { jsonProblem } from '../wire/recordParts.ts';

/** The value of an attribute. Objects have no prototype, so that no key means anything by itself. */
export type AttributeValue = string | number | boolean | null | AttributeValue[] | { [key: string]: AttributeValue };

export type Tree = { [key: string]: AttributeValue };
type Structure = AttributeValue[] | Tree;

/** Of which attributes others are a part, and under which name. */
interface Whole {
  attributes: Attributes;
  prefix: string;
}

/**
 * The attributes of a span, event or resource, or those of one item of a list. Names come from outside: they are only ever keys of maps. What was
 * read is remembered, so that the rest can be kept beside it.
 */
export class Attributes {
  readonly #values: ReadonlyMap<string, AttributeValue>;
  readonly #partOf: Whole | undefined;
  readonly #read = new Set<string>();
  /** Those with a number in their name: few spans have any, and every form of lists looks for them. */
  #numbered: [string, AttributeValue][] | undefined;

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

  /** What stands under `prefix.0.`, `prefix.1.` and so on, in the order of the numbers. */
  items(prefix: string): Attributes[] {
    this.#numbered ??= numberedIn(this.#values);
    if (this.#numbered.length === 0) return [];
    const items = new Map<number, Map<string, AttributeValue>>();
    const start = `${prefix}.`;
    for (const [name, value] of this.#numbered) {
      if (!name.startsWith(start)) continue;
      const match = /^(\d{1,9})(?:\.|$)/.exec(name.slice(start.length));
      if (!match) continue;
      const index = Number(match[1]);
      const item = items.get(index) ?? new Map<string, AttributeValue>();
      item.set(name.slice(start.length + match[0].length), value);
      items.set(index, item);
    }
    return [...items]
      .sort(([one], [other]) => one - other)
      .map(([index, item]) => new Attributes(item, { attributes: this, prefix: `${start}${index}` }));
  }

  #mark(name: string): void {
    this.#read.add(name);
    if (!this.#partOf) return;
    const { attributes, prefix } = this.#partOf;
    attributes.#mark(name === '' ? prefix : `${prefix}.${name}`);
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

function numberedIn(values: ReadonlyMap<string, AttributeValue>): [string, AttributeValue][] {
  const numbered: [string, AttributeValue][] = [];
  for (const entry of values) if (hasNumber(entry[0])) numbered.push(entry);
  return numbered;
}

/** Whether a digit follows a dot. */
function hasNumber(name: string): boolean {
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const code = name.charCodeAt(dot + 1);
    if (code >= 48 && code <= 57) return true;
  }
  return false;
}

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
