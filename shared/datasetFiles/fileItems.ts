import { decoderOf, KIND_BYTES, notIn } from '../csv/decoderOf.ts';
import { type Delimiter, declaredDelimiter, delimiters, detectDelimiter, HEAD_CHARACTERS } from '../csv/detectDelimiter.ts';
import { isObject } from '../wire/isObject.ts';
import { jsonPieceOf } from '../wire/jsonPieces.ts';
import { csvRecords } from './csvRecords.ts';
import { parseExactly } from './parseExactly.ts';

export type FileFormat = 'csv' | 'json' | 'jsonl';

export interface FileReading {
  format: FileFormat;
  /** Separator of a CSV file. Absent: the one that the file declares, else the one that fits it. */
  delimiter?: Delimiter | undefined;
}

/** The columns and cells of a row, in the order of the file. */
export type FileCells = readonly (readonly [name: string, value: unknown])[];

/** One entry of a file: a row, or a text that is none. */
export interface FileItem {
  /** Line of the file, from 1. */
  line: number;
  /** Absent where no row can be made of it. */
  cells?: FileCells;
  /** The fault of the entry. A row with a fault is read as far as it goes. */
  problem?: string | undefined;
  /** The entry as it stands in the file. Absent for a row of a list that has no fault. */
  text?: string;
}

/** Returns the format of a file by its name, else by its beginning. */
export function formatOf(name: string, head: string): FileFormat {
  const ending = /\.(csv|tsv|txt|jsonl|ndjson|json)$/i.exec(name)?.[1]?.toLowerCase();
  if (ending === 'jsonl' || ending === 'ndjson') return 'jsonl';
  const begins = head.trimStart()[0];
  if (begins === '[') return 'json';
  if (begins === '{') return 'jsonl';
  return ending === 'json' ? 'json' : 'csv';
}

/** Reads the beginning of a file. @throws Error for a file that is no text; its message says what to do about it */
export async function headOf(file: Blob): Promise<string> {
  let head = '';
  for await (const text of textsOf(file)) {
    head += text;
    if (head.length >= HEAD_CHARACTERS) break;
  }
  return head;
}

/** Returns the separator of a CSV file that begins so. */
export function delimiterOf(head: string): Delimiter {
  const declared = declaredDelimiter(head);
  return delimiters.find((one) => one === declared) ?? detectDelimiter(head);
}

/**
 * Yields the entries of a dataset file. A row with a fault is read as far as it goes and names its fault. Only a file that is no text ends the reading.
 * @throws Error for a file that is no text
 */
export async function* fileItems(file: Blob, { format, delimiter }: FileReading): AsyncGenerator<FileItem, void> {
  if (format === 'csv') return yield* csvItems(file, delimiter);
  if (format === 'jsonl') return yield* lineItems(textsOf(file));
  let whole = '';
  for await (const text of textsOf(file)) whole += text;
  yield* listItems(whole);
}

async function* csvItems(file: Blob, given: Delimiter | undefined): AsyncGenerator<FileItem, void> {
  const head = await headOf(file);
  let columns: string[] | undefined;
  for await (const record of csvRecords(textsOf(file), given ?? delimiterOf(head), declaredDelimiter(head) ? 2 : 1)) {
    const { fields, line, text } = record;
    if (!columns) {
      const named = columnNames(fields);
      columns = named.names;
      if (named.problem !== undefined) yield { line, text, problem: named.problem };
      continue;
    }
    const names = columns;
    // Rows of delimiters alone, as spreadsheets write them.
    if (fields.every((field) => field === null)) continue;
    const count = fields.length;
    const unequal = count === names.length ? undefined : `${count} fields, but the header names ${names.length} columns`;
    const cells = fields.map((field, index) => [names[index] ?? `field ${index + 1}`, field] as const);
    yield { line, text, cells, problem: record.problem ?? unequal };
  }
}

/** Returns the column names of a header. A name that is missing or stands there twice is replaced. */
function columnNames(fields: readonly (string | null)[]): { names: string[]; problem: string | undefined } {
  const names: string[] = [];
  let problem: string | undefined;
  for (const [index, field] of fields.entries()) {
    const wanted = field?.trim() ?? '';
    let name = wanted === '' ? `column ${index + 1}` : wanted;
    for (let number = 2; names.includes(name); number++) name = `${wanted} ${number}`;
    if (name !== wanted)
      problem ??=
        wanted === ''
          ? `column ${index + 1} has no name, it is called “${name}”`
          : `“${wanted}” is there twice, the other is called “${name}”`;
    names.push(name);
  }
  return { names, problem };
}

async function* lineItems(texts: AsyncIterable<string>): AsyncGenerator<FileItem, void> {
  let rest = '';
  let line = 0;
  const itemOf = (text: string) => ({ ...rowOf(text), line, text });
  for await (const piece of texts) {
    const lines = piece.split('\n');
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    for (const text of lines) {
      line += 1;
      if (text.trim() !== '') yield itemOf(text);
    }
  }
  line += 1;
  if (rest.trim() !== '') yield itemOf(rest);
}

function* listItems(text: string): Generator<FileItem, void> {
  const piece = jsonPieceOf(text);
  if (!piece || text[piece.start] !== '[') {
    const line = lineOfProblem(text);
    yield { line, text, problem: piece ? 'a JSON file must be a list of objects' : 'the file is not valid JSON from here on' };
    return;
  }
  let line = 1;
  let counted = 0;
  for (const { start, end } of piece.entries) {
    for (let at = text.indexOf('\n', counted); at >= 0 && at < start; at = text.indexOf('\n', at + 1)) {
      line += 1;
      counted = at + 1;
    }
    const written = text.slice(start, end);
    yield { ...rowOf(written), line, text: written };
  }
}

function rowOf(text: string): Pick<FileItem, 'cells' | 'problem'> {
  let value: unknown;
  try {
    value = parseExactly(text);
  } catch {
    return { problem: 'not valid JSON' };
  }
  if (!isObject(value)) return { problem: 'no JSON object' };
  const cells = Object.entries(value).filter(([name]) => name !== '');
  return { cells, problem: '' in value ? 'a column without a name is left out' : undefined };
}

/** Returns the line where `JSON.parse` finds the text broken. */
function lineOfProblem(text: string): number {
  try {
    JSON.parse(text);
    return 1;
  } catch (err) {
    const position = /position (\d+)/.exec((err as Error).message)?.[1];
    return position === undefined ? 1 : text.slice(0, Number(position)).split('\n').length;
  }
}

/** Yields the text of a file in pieces, without its byte order mark. @throws Error for a file that is no text */
async function* textsOf(file: Blob): AsyncGenerator<string, void> {
  const decoder = decoderOf(new Uint8Array(await file.slice(0, KIND_BYTES).arrayBuffer()));
  const reader = file.stream().getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      yield decoder.decode(value, { stream: true });
    }
    yield decoder.decode();
  } catch (err) {
    throw err instanceof TypeError ? new Error(notIn(decoder.encoding), { cause: err }) : err;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
