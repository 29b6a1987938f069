import { ServiceError } from '../../../errors/errors.ts';
import { GrowingBytes, type Memory } from './growingBytes.ts';

/** The values of one column, in the form of its type. */
export interface Cells {
  add(value: unknown): void;
  addDefault(): void;
  finish(): Buffer[];
}

export function cellsOf(type: string): (memory: Memory) => Cells {
  const { outer, inner } = /^(?<outer>\w+)(?:\((?<inner>.*)\))?$/.exec(type)?.groups ?? {};
  switch (outer) {
    case 'Nullable': {
      const values = cellsOf(inner ?? '');
      return (memory) => new NullableCells(memory, values(memory));
    }
    case 'Array': {
      const items = cellsOf(inner ?? '');
      return (memory) => new ListCells(memory, [items(memory)], addItems);
    }
    case 'Map': {
      const [key = '', value = ''] = (inner ?? '').split(/, (.*)/s);
      const [keys, values] = [cellsOf(key), cellsOf(value)];
      return (memory) => new ListCells(memory, [keys(memory), values(memory)], addEntries);
    }
    case 'String':
      return (memory) => new TextCells(memory);
    case 'UUID':
      return (memory) => new UuidCells(memory);
    default: {
      const number = outer === undefined ? undefined : numbers[outer];
      if (!number) throw new Error(`no way to write values of type ${type}`);
      return (memory) => new NumberCells(memory, number);
    }
  }
}

class NullableCells implements Cells {
  readonly #isNull: GrowingBytes;
  readonly #values: Cells;

  constructor(memory: Memory, values: Cells) {
    this.#isNull = new GrowingBytes(memory);
    this.#values = values;
  }

  add(value: unknown): void {
    if (value === null) this.addDefault();
    else {
      this.#values.add(value);
      this.#isNull.addByte(0);
    }
  }

  addDefault(): void {
    this.#isNull.addByte(1);
    this.#values.addDefault();
  }

  finish(): Buffer[] {
    return [this.#isNull.written(), ...this.#values.finish()];
  }
}

/** Adds a value's members. @returns how many these are */
type AddMembers = (value: unknown, to: readonly Cells[]) => number;

/** Lists and maps: where each value ends, and the members of all. */
class ListCells implements Cells {
  readonly #ends: GrowingBytes;
  readonly #members: readonly Cells[];
  readonly #addMembers: AddMembers;
  #end = 0;

  constructor(memory: Memory, members: readonly Cells[], addMembers: AddMembers) {
    this.#ends = new GrowingBytes(memory);
    this.#members = members;
    this.#addMembers = addMembers;
  }

  add(value: unknown): void {
    this.#end += this.#addMembers(value, this.#members);
    this.addDefault();
  }

  addDefault(): void {
    this.#ends.addInt64(this.#end);
  }

  finish(): Buffer[] {
    return [this.#ends.written(), ...this.#members.flatMap((cells) => cells.finish())];
  }
}

const addItems: AddMembers = (value, [items]) => {
  if (!Array.isArray(value)) throw doesNotFit('a list');
  for (const item of value) items?.add(item);
  return value.length;
};

const addEntries: AddMembers = (value, [keys, values]) => {
  if (typeof value !== 'object' || value === null) throw doesNotFit('an object');
  const names = Object.keys(value);
  for (const name of names) {
    keys?.add(name);
    values?.add((value as Record<string, unknown>)[name]);
  }
  return names.length;
};

abstract class PlainCells implements Cells {
  protected readonly bytes: GrowingBytes;

  constructor(memory: Memory) {
    this.bytes = new GrowingBytes(memory);
  }

  abstract add(value: unknown): void;
  abstract addDefault(): void;

  finish(): Buffer[] {
    return [this.bytes.written()];
  }
}

class TextCells extends PlainCells {
  add(value: unknown): void {
    if (typeof value !== 'string') throw doesNotFit('a text');
    this.bytes.addText(value);
  }

  addDefault(): void {
    this.bytes.addByte(0);
  }
}

/** Where the digits of a UUID's bytes stand in its text, in the order of the engine: two halves, each with its lowest byte first. */
const uuidDigits = [16, 14, 11, 9, 6, 4, 2, 0, 34, 32, 30, 28, 26, 24, 21, 19];
const hexDigits = new Int8Array(128).fill(-1);
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  hexDigits[digit.charCodeAt(0)] = value;
  hexDigits[digit.toUpperCase().charCodeAt(0)] = value;
}

class UuidCells extends PlainCells {
  readonly #read = Buffer.alloc(16);

  add(value: unknown): void {
    if (typeof value !== 'string' || value.length !== 36) throw doesNotFit('a UUID');
    let problems = 0;
    for (let i = 0; i < 16; i++) {
      const at = uuidDigits[i] as number;
      const byte = ((hexDigits[value.charCodeAt(at)] ?? -1) << 4) | (hexDigits[value.charCodeAt(at + 1)] ?? -1);
      problems |= byte;
      this.#read[i] = byte;
    }
    if (problems < 0) throw doesNotFit('a UUID');
    this.bytes.addBytes(this.#read);
  }

  addDefault(): void {
    this.bytes.addZeros(16);
  }
}

class NumberCells extends PlainCells {
  readonly #number: NumberForm;

  constructor(memory: Memory, number: NumberForm) {
    super(memory);
    this.#number = number;
  }

  add(value: unknown): void {
    const { width, write } = this.#number;
    this.bytes.reserve(width);
    write(this.bytes, value);
  }

  addDefault(): void {
    this.bytes.addZeros(this.#number.width);
  }
}

interface NumberForm {
  width: number;
  write(to: GrowingBytes, value: unknown): void;
}

const whole = (value: unknown, least: number, most: number): number => {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw doesNotFit(`a whole number from ${least} to ${most}`);
};

/** 64 bits as far as JavaScript's numbers are exact. */
const long = (least: number): NumberForm => ({
  width: 8,
  write: (to, value) => to.addInt64(whole(value, least, Number.MAX_SAFE_INTEGER)),
});

const numbers: Record<string, NumberForm> = {
  Bool: {
    width: 1,
    write(to, value) {
      if (typeof value !== 'boolean') throw doesNotFit('true or false');
      to.addByte(value ? 1 : 0);
    },
  },
  UInt8: { width: 1, write: (to, value) => to.addByte(whole(value, 0, 255)) },
  Int32: { width: 4, write: (to, value) => to.addInt32(whole(value, -(2 ** 31), 2 ** 31 - 1)) },
  UInt32: { width: 4, write: (to, value) => to.addInt32(whole(value, 0, 2 ** 32 - 1) | 0) },
  Int64: long(Number.MIN_SAFE_INTEGER),
  UInt64: long(0),
  Float64: {
    width: 8,
    write(to, value) {
      if (typeof value !== 'number') throw doesNotFit('a number');
      to.addDouble(value + 0); // -0 is 0, as everywhere else in JSON; the engine's sets and orders keep them apart
    },
  },
  DateTime64: { width: 8, write: addTime },
};

/** Microseconds since 1970 of a time in the canonical form (see wire/time.ts). */
function addTime(to: GrowingBytes, value: unknown): void {
  if (typeof value !== 'string' || value.length !== 27 || !value.endsWith('Z'))
    throw doesNotFit('a time such as 2026-07-07T15:55:01.110554Z');
  const seconds =
    Date.UTC(digits(value, 0, 4), digits(value, 5, 7) - 1, digits(value, 8, 10)) / 1_000 +
    3_600 * digits(value, 11, 13) +
    60 * digits(value, 14, 16) +
    digits(value, 17, 19);
  const micros = digits(value, 20, 26);
  const sum = seconds * 1_000_000 + micros;
  if (Number.isSafeInteger(sum)) to.addInt64(sum);
  // From the year 2255 on.
  else to.addBigInt64(BigInt(seconds) * 1_000_000n + BigInt(micros));
}

function digits(text: string, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) number = number * 10 + text.charCodeAt(at) - 48;
  return number;
}

const doesNotFit = (wanted: string): ServiceError =>
  new ServiceError('BadRequest', `the record store refuses a value where it needs ${wanted}`);
