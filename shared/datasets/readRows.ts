import { freeTurn } from '../concurrency/freeTurn.ts';
import { decoderOf, KIND_BYTES, NoText, notIn } from '../csv/decoderOf.ts';
import type { Delimiter } from '../csv/detectDelimiter.ts';
import { CsvProblem, type CsvSummary, MAX_ROW_CHARACTERS, readCsv } from '../csv/readCsv.ts';
import { type InvalidItem, RequestInvalid } from '../errors/errors.ts';
import { parseJson } from '../json/parseJson.ts';
import { ColumnName, type DatasetFormat } from '../wire/datasets.ts';
import { isObject } from '../wire/isObject.ts';
import { toCell } from './cells.ts';
import type { Cell } from './dataset.ts';

/** A row of a file: its cells in the file's order, each column once. */
export type FileRow = readonly (readonly [name: string, cell: Cell])[];

export interface CsvReading {
  /** Absent: detected. */
  delimiter?: Delimiter | undefined;
  onEnd?: (summary: CsvSummary) => void;
}

/**
 * The rows of a dataset file, one after another: the file is read in pieces and never held as rows.
 * @param onColumn gets each column once, in order, before a row that has it.
 * @throws RequestInvalid naming the line when a line is broken.
 */
export function readRows(
  format: DatasetFormat,
  file: Blob,
  onColumn: (name: string) => void,
  csv: CsvReading = {},
): AsyncGenerator<FileRow, void> {
  switch (format) {
    case 'csv':
      return csvRows(file, onColumn, csv);
    case 'jsonl':
      return readObjects(lines(decoded(file)), 'each line of a JSON lines file must be a JSON object', onColumn);
    case 'json':
      return readObjects(elements(decoded(file)), 'a JSON file must be an array of objects', onColumn);
    case 'feather':
      throw broken('Feather files cannot be read; send the same table as csv, jsonl or json', undefined, 'format_unsupported');
  }
}

function broken(msg: string, line: number | undefined, type = 'dataset_line_invalid'): RequestInvalid {
  const item: InvalidItem = { loc: line === undefined ? ['body', 'file'] : ['body', 'file', line], type, msg };
  return new RequestInvalid([line === undefined ? item : { ...item, msg: `line ${line}: ${msg}`, ctx: { line } }]);
}

/** Bytes of a piece: 2,000 of the shortest rows, which take the parser 2 to 4 ms. */
const PIECE_BYTES = 4_096;

/** The bytes of a file in pieces between which the event loop goes on. A file in memory comes in one. */
async function* pieces(file: Blob): AsyncGenerator<Uint8Array, void> {
  for await (const bytes of file.stream()) {
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      await freeTurn();
      yield bytes.subarray(start, start + PIECE_BYTES);
    }
  }
}

/** Text in pieces, without a byte order mark. */
async function* decoded(file: Blob): AsyncGenerator<string, void> {
  let encoding = 'utf-8';
  let line = 1;
  try {
    const decoder = decoderOf(new Uint8Array(await file.slice(0, KIND_BYTES).arrayBuffer()));
    encoding = decoder.encoding;
    for await (const bytes of pieces(file)) {
      const text = decoder.decode(bytes, { stream: true });
      yield text;
      line += text.split('\n').length - 1;
    }
    yield decoder.decode();
  } catch (err) {
    if (err instanceof NoText) throw broken(err.message, undefined, 'format_unsupported');
    if (!(err instanceof TypeError)) throw err;
    throw broken(`${notIn(encoding)} (in the part of the file that starts at this line)`, line);
  }
}

async function* csvRows(
  file: Blob,
  onColumn: (name: string) => void,
  { delimiter, onEnd }: CsvReading,
): AsyncGenerator<FileRow, void> {
  const names: string[] = [];
  const csv = readCsv(decoded(file), {
    delimiter,
    onColumn: (name, line) => {
      checkColumnName(name, line);
      names.push(name);
      onColumn(name);
    },
  });
  try {
    for await (const { cells } of csv.rows) {
      // The parser reads some pieces ahead.
      await freeTurn();
      yield cells.map((cell, index) => [names[index] as string, cell] as const);
    }
  } catch (err) {
    throw err instanceof CsvProblem ? broken(err.message, err.line) : err;
  }
  onEnd?.(csv.summary());
}

function checkColumnName(name: string, line: number): void {
  const checked = ColumnName.safeParse(name);
  if (checked.success) return;
  throw broken(`not a column name (1 to 255 characters, no NUL): ${JSON.stringify(name.slice(0, 50))}`, line);
}

interface JsonText {
  text: string;
  line: number;
}

async function* readObjects(
  texts: AsyncIterable<JsonText>,
  expected: string,
  onColumn: (name: string) => void,
): AsyncGenerator<FileRow, void> {
  const known = new Set<string>();
  for await (const { text, line } of texts) {
    const value = parseLine(text, line);
    if (!isObject(value)) throw broken(expected, line);
    const cells = cellsOf(value, line);
    for (const [name] of cells) {
      if (known.has(name)) continue;
      checkColumnName(name, line);
      known.add(name);
      onColumn(name);
    }
    yield cells;
  }
}

function cellsOf(value: object, line: number): FileRow {
  try {
    return Object.entries(value).map(([name, cell]) => [name, toCell(cell)] as const);
  } catch (err) {
    // Its JSON text is made by recursion.
    if (err instanceof RangeError) throw broken('the row nests too deep', line);
    throw err;
  }
}

function parseLine(text: string, line: number): unknown {
  try {
    return parseJson(text);
  } catch (err) {
    // The parser's own place is one in this text, not in the file.
    const { message } = err as Error;
    const [place, position = '0'] = /(?: in JSON)? at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message) ?? [''];
    // Some of its messages name no place, but the text around it.
    const [problem] = /^Unexpected token .{1,4}(?=, )/s.exec(message) ?? [message.slice(0, message.length - place.length)];
    const where = place === '' && text.includes('\n') ? ' (in the row that starts at this line)' : '';
    throw broken(`not valid JSON${where}: ${problem.replaceAll('\n', '\\n')}`, line + lineEnds(text.slice(0, Number(position))));
  }
}

const lineEnds = (text: string): number => text.split('\n').length - 1;

/** The lines that are not blank. */
async function* lines(pieces: AsyncIterable<string>): AsyncGenerator<JsonText, void> {
  let rest = '';
  let line = 1;
  for await (const piece of pieces) {
    const complete = piece.split('\n');
    if (complete.length === 1) {
      rest += piece;
      if (rest.length > MAX_ROW_CHARACTERS) throw broken(`the line is longer than ${MAX_ROW_CHARACTERS} characters`, line);
      continue;
    }
    complete[0] = rest + complete[0];
    rest = complete.pop() as string;
    for (const text of complete) {
      if (text.trim() !== '') yield { text, line };
      line += 1;
    }
  }
  if (rest.trim() !== '') yield { text: rest, line };
}

/**
 * The elements of one JSON array, each as its text: cut at the commas of the outermost level, without parsing the whole.
 *
 * `@streamparser/json` is faster (90 ms for 16 MB, 130 ms here), but gives values without their text: 12345678901234567890 becomes
 * 12345678901234567000, and an error says no line of the file. It replaces this when it hands out the text of a number.
 */
async function* elements(pieces: AsyncIterable<string>): AsyncGenerator<JsonText, void> {
  let state: 'before' | 'inside' | 'after' = 'before';
  let text = '';
  let depth = 0;
  let inString = false;
  let escaped = false;
  let line = 1;
  let startLine = 1;
  let count = 0;
  for await (const piece of pieces) {
    // Everything from `start` on belongs to the element that is being read.
    let start = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const character = piece[at] as string;
      if (character === '\n') line += 1;
      if (inString) {
        if (escaped) escaped = false;
        else if (character === '\\') escaped = true;
        else if (character === '"') inString = false;
        continue;
      }
      if (state !== 'inside') {
        if (/\s/.test(character)) continue;
        if (state === 'after' || character !== '[') throw broken('a JSON file must be one array of objects', line);
        state = 'inside';
        start = at + 1;
        startLine = line;
        continue;
      }
      if (character === '"') inString = true;
      else if (character === '{' || character === '[') depth += 1;
      else if (depth > 0 && (character === '}' || character === ']')) depth -= 1;
      else if (depth === 0 && (character === ',' || character === ']')) {
        text += piece.slice(start, at);
        const isEmptyArray = character === ']' && count === 0 && text.trim() === '';
        if (!isEmptyArray) yield fromItsLine(text, startLine);
        count += 1;
        text = '';
        start = at + 1;
        startLine = line;
        if (character === ']') state = 'after';
      }
    }
    if (state === 'inside') text += piece.slice(start);
    if (text.length > MAX_ROW_CHARACTERS)
      throw broken(`the row is longer than ${MAX_ROW_CHARACTERS} characters`, fromItsLine(text, startLine).line);
  }
  if (state === 'before') throw broken('the file is empty; a JSON file must be an array of objects', line);
  if (state === 'inside')
    throw broken('the array is not closed: the file seems to be cut off', fromItsLine(text, startLine).line);
}

/** An element without the blank lines before it. */
function fromItsLine(text: string, line: number): JsonText {
  const trimmed = text.replace(/^[ \t\r\n]+/, '');
  return { text: trimmed, line: line + lineEnds(text.slice(0, text.length - trimmed.length)) };
}
