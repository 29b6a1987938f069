import { parseJson as parseExact } from '../json/parseJson.ts';
import { storable } from '../json/storable.ts';
import { type ExactNumber, isExact } from '../wire/exactNumber.ts';
import { jsonProblem } from '../wire/recordParts.ts';
import { AttributeLayout } from './attributeLayout.ts';
import { readableJson } from './readableJson.ts';

/** The value of an attribute. Objects have no prototype, so that no key means anything by itself. */
export type AttributeValue =
  | string
  | number
  | ExactNumber
  | boolean
  | null
  | AttributeValue[]
  | { [key: string]: AttributeValue };

export type AttributeTree = { [key: string]: AttributeValue };
type Structure = AttributeValue[] | AttributeTree;

/** Attributes that hold others as their parts, and the place of each part. */
interface Whole {
  attributes: Attributes;
  positions: readonly number[];
}

/**
 * The attributes of a span, event or resource, or those of one item of a list. Names come from outside: they are only ever keys of maps. What was
 * read is remembered, so that the rest can be kept beside it.
 */
export class Attributes {
  #layout: AttributeLayout;
  readonly #values: AttributeValue[];
  readonly #partOf: Whole | undefined;
  readonly #read: boolean[] = [];

  constructor(layout = AttributeLayout.empty, values: AttributeValue[] = [], partOf?: Whole) {
    this.#layout = layout;
    this.#values = values;
    this.#partOf = partOf;
  }

  static of(entries: Iterable<readonly [string, AttributeValue]>): Attributes {
    const attributes = new Attributes();
    for (const [name, value] of entries) attributes.set(name, value);
    return attributes;
  }

  /** Adds one while they are read; the last one of a name counts. JSON texts lose the escapes that hide their words. */
  set(name: string, given: AttributeValue): void {
    const value = typeof given === 'string' ? readableJson(given) : given;
    this.#layout = this.#layout.with(name);
    if (this.#layout.length > this.#values.length) this.#values.push(value);
    else this.#values[this.#layout.positions.get(name) as number] = value;
  }

  has(name: string): boolean {
    return this.#layout.positions.has(name);
  }

  /** Returns whether any name begins so. */
  hasAny(prefix: string): boolean {
    return this.#layout.hasAny(prefix);
  }

  /** Returns what follows from the names alone, which is found once for all spans with the same. @param derive a constant of its module */
  fromNames<T>(derive: (names: readonly string[]) => T): T {
    return this.#layout.derived(derive);
  }

  /** The first of these that is there and not empty. */
  get(...names: string[]): AttributeValue | undefined {
    for (const name of names) {
      const value = this.#take(name);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  #take(name: string): AttributeValue | undefined {
    const position = this.#layout.positions.get(name);
    if (position === undefined) return undefined;
    this.#mark(position);
    const value = this.#values[position];
    return value === null || value === '' ? undefined : value;
  }

  /** The value, which stays with the rest. */
  peek(name: string): AttributeValue | undefined {
    const position = this.#layout.positions.get(name);
    return position === undefined ? undefined : this.#values[position];
  }

  /** As text: what is no text is written as JSON. */
  text(...names: string[]): string | undefined {
    for (const name of names) {
      const value = this.#take(name);
      if (value !== undefined) return textOf(value);
    }
    return undefined;
  }

  /** As text: the first that is not empty of those whose names end so, in the order of the endings. */
  textEndingWith(...endings: string[]): string | undefined {
    const names = endings.flatMap((ending) => this.#layout.names.filter((name) => name.endsWith(ending)));
    return this.text(...names);
  }

  number(...names: string[]): number | undefined {
    return this.numberThat(anyNumber, ...names);
  }

  /** A whole number that counts something. */
  count(...names: string[]): number | undefined {
    return this.numberThat(isCount, ...names);
  }

  /** The first of these that is a number and fits; those that do not stay with the rest. */
  numberThat(fits: (number: number) => boolean, ...names: string[]): number | undefined {
    for (const name of names) {
      const value = this.peek(name);
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
      if (typeof number !== 'number' || !Number.isFinite(number) || !fits(number)) continue;
      this.markRead(name);
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
  tree(...names: string[]): AttributeTree | undefined {
    return this.#firstStructure(names, (structure) => (Array.isArray(structure) ? undefined : structure));
  }

  #firstStructure<T extends Structure>(
    names: readonly string[],
    fitting: (structure: Structure) => T | undefined,
  ): T | undefined {
    for (const name of names) {
      const structure = structureOf(this.peek(name));
      const found = structure && fitting(structure);
      if (found === undefined) continue;
      this.markRead(name);
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

  /** Returns what stands under `prefix.0.`, `prefix.1.` and so on, in the order of the numbers; the prefix holds no number. */
  items(prefix: string): Attributes[] {
    return this.#layout.items(prefix).map(
      ({ layout, positions }) =>
        new Attributes(
          layout,
          positions.map((position) => this.#values[position] as AttributeValue),
          { attributes: this, positions },
        ),
    );
  }

  #mark(position: number): void {
    this.#read[position] = true;
    if (this.#partOf) this.#partOf.attributes.#mark(this.#partOf.positions[position] as number);
  }

  /** These say nothing that is worth keeping beside what was read. */
  markRead(...names: string[]): void {
    for (const name of names) {
      const position = this.#layout.positions.get(name);
      if (position !== undefined) this.#mark(position);
    }
  }

  /** All of them, which are read then. */
  entries(): [string, AttributeValue][] {
    return this.#layout.names.map((name, position) => {
      this.#mark(position);
      return [name, this.#values[position] as AttributeValue];
    });
  }

  /** Those that were not read. */
  rest(): [string, AttributeValue][] {
    const entries: [string, AttributeValue][] = [];
    this.eachUnread((name, value) => entries.push([name, value]));
    return entries;
  }

  /** As `rest`, without a list of them: most spans have some. */
  eachUnread(visit: (name: string, value: AttributeValue) => void): void {
    const { names } = this.#layout;
    for (let position = 0; position < names.length; position++)
      if (this.#read[position] !== true) visit(names[position] as string, this.#values[position] as AttributeValue);
  }
}

const anyNumber = (): boolean => true;
const isCount = (number: number): boolean => Number.isSafeInteger(number) && number >= 0;

/** Text as it is, anything else as JSON. */
export const textOf = (value: AttributeValue): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A structure: as it is, or out of the JSON text that instrumentations write where attributes hold only plain values. */
export function structureOf(value: AttributeValue | undefined): Structure | undefined {
  const structure = typeof value === 'string' ? parseJson(value) : value;
  return typeof structure === 'object' && structure !== null && !isExact(structure) ? structure : undefined;
}

/** The structure in a JSON text; undefined where there is none that could be stored. */
export function parseJson(text: string): AttributeValue | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value = storable(parseExact(text), text);
    return jsonProblem(value) === undefined ? (value as AttributeValue) : undefined;
  } catch {
    return undefined;
  }
}
