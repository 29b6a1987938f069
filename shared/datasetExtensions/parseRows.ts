import { parseJson } from '../json/parseJson.ts';
import { isObject } from '../wire/isObject.ts';
import type { GeneratedRow } from './extension.ts';
import { storableText } from './storableText.ts';

/** Characters of one cell; a model that repeats itself is not kept. */
const MAX_CELL = 20_000;
/** Names that models give the input instead of the one that the prompt names. */
const INPUT_NAMES = ['input', 'query', 'question', 'prompt', 'text', 'user_input', 'message'];

/**
 * The rows in a model's answer, however it wraps them: an object with a list, a list, code fences, one object a line, words around it, an answer that
 * was cut off, or a plain list of lines. What is no row is left out; it costs no other row.
 * @param columns names of the columns; `input` is the first
 */
export function parseRows(answer: string, columns: readonly string[]): GeneratedRow[] {
  const found = jsonValues(answer).flatMap(rowsIn);
  const values: unknown[] = found.length > 0 ? found : listedLines(answer);
  return values.map((value) => rowOf(value, columns)).filter((row) => row !== undefined);
}

/** A list inside an object is the rows; any other value is one. */
function rowsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap((one) => (Array.isArray(one) ? one : [one]));
  if (!isObject(value)) return [];
  const { rows, data, ...others } = value;
  const list = [rows, data, ...Object.values(others)].find(Array.isArray);
  return list && (Array.isArray(rows) || Array.isArray(data) || Object.keys(value).length === 1) ? list : [value];
}

/** The outermost objects and lists of a text that are JSON. Of one that is not closed, those inside it. */
function jsonValues(text: string): unknown[] {
  const values: unknown[] = [];
  let past = 0;
  for (const [start, end] of bracketed(text)) {
    if (start < past) continue;
    try {
      values.push(parseJson(text.slice(start, end)));
      past = end;
    } catch {
      // Its parts may be JSON: they come next.
    }
  }
  return values;
}

/** Where brackets open and close, outside of strings, the outer before the inner. */
function bracketed(text: string): [start: number, end: number][] {
  const pairs: [number, number][] = [];
  const open: number[] = [];
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isQuoted) {
      if (char === '\\') at++;
      else if (char === '"' || char === '\n') isQuoted = false;
    } else if (char === '"') isQuoted = open.length > 0;
    else if (char === '{' || char === '[') open.push(at);
    else if (char === '}' || char === ']') {
      const start = open.pop();
      if (start !== undefined) pairs.push([start, at + 1]);
    }
  }
  return pairs.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
}

const listedLines = (text: string): string[] =>
  [...text.matchAll(/^\s*(?:\d+[.)]|[-*•])\s+(.+)$/gm)].map((match) => (match[1] as string).replace(/^"(.*)"$/, '$1'));

function rowOf(value: unknown, columns: readonly string[]): GeneratedRow | undefined {
  if (typeof value === 'string') return withInput({ input: value.trim() });
  if (!isObject(value)) return undefined;
  const given = new Map(Object.entries(value).map(([name, cell]) => [name.trim().toLowerCase(), cell]));
  const row: GeneratedRow = {};
  for (const name of columns) {
    const known = name === 'input' ? INPUT_NAMES.find((one) => given.has(one)) : name.toLowerCase();
    const cell = known === undefined ? undefined : given.get(known);
    if (cell !== undefined && cell !== null) row[name] = typeof cell === 'string' ? cell.trim() : JSON.stringify(cell);
  }
  const [only] = given;
  const isNamedOtherwise = only !== undefined && given.size === 1 && !columns.some((name) => name.toLowerCase() === only[0]);
  if (row.input === undefined && isNamedOtherwise && typeof only[1] === 'string') row.input = only[1].trim();
  return withInput(row);
}

/** A row asks something. */
function withInput(row: GeneratedRow): GeneratedRow | undefined {
  if (Object.values(row).some((cell) => cell.length > MAX_CELL)) return undefined;
  const stored = Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, storableText(cell).trim()]));
  return stored.input ? stored : undefined;
}
