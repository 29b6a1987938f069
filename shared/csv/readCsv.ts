import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { type Delimiter, declaredDelimiter, delimiters, detectDelimiter, HEAD_CHARACTERS } from './detectDelimiter.ts';

/** How a file was read, for its sender: what was detected and what was left out. */
export interface CsvSummary {
  delimiter: Delimiter;
  /** Records of delimiters alone, as spreadsheets write them below and between their rows. */
  emptyRowsSkipped: number;
}

export interface CsvRow {
  /** Null for an unquoted empty field, `''` for a quoted one. */
  cells: (string | null)[];
  /** Line of the file where the row starts, from 1. */
  line: number;
}

export interface CsvRows {
  rows: AsyncGenerator<CsvRow, void>;
  /** Complete once the rows have been read. */
  summary(): CsvSummary;
}

export interface ReadCsvOptions {
  /** Absent: the one that the file declares, else the one that fits it. */
  delimiter?: Delimiter | undefined;
  /** Gets the names of the header one by one, before the first row. What it throws ends the reading. */
  onColumn: (name: string, line: number) => void;
}

/** A line of a CSV file is broken. */
export class CsvProblem extends Error {
  override name = 'CsvProblem';
  readonly line: number;

  constructor(message: string, line: number, options?: ErrorOptions) {
    super(message, options);
    this.line = line;
  }
}

/** One row with a long document in it fits; a file without line ends is refused before it fills the memory. */
export const MAX_ROW_CHARACTERS = 16 * 1024 * 1024;

/**
 * The rows of a CSV file with a header, one after another. Lines may end in any of CR LF, LF and CR, also mixed. Names of columns lose the blanks around
 * them unless they are quoted; values keep theirs.
 * @param texts the file in pieces, without a byte order mark
 * @throws CsvProblem from `rows`: a broken line, a name that is missing or twice, a row with more or fewer fields than the header
 */
export function readCsv(texts: AsyncIterable<string>, options: ReadCsvOptions): CsvRows {
  const summary: CsvSummary = { delimiter: options.delimiter ?? ',', emptyRowsSkipped: 0 };
  async function* rows(): AsyncGenerator<CsvRow, void> {
    const pieces = texts[Symbol.asyncIterator]();
    const head: string[] = [];
    let characters = 0;
    while (characters < HEAD_CHARACTERS) {
      const { value, done } = await pieces.next();
      if (done) break;
      head.push(value);
      characters += value.length;
    }
    const beginning = head.join('');
    const declared = declaredDelimiter(beginning);
    summary.delimiter = options.delimiter ?? (declared === undefined ? detectDelimiter(beginning) : delimiterNamed(declared));
    const all = async function* () {
      yield* head;
      yield* { [Symbol.asyncIterator]: () => pieces };
    };
    for await (const row of records(all(), summary.delimiter, declared ? 2 : 1, options.onColumn)) {
      if (row.cells.every((cell) => cell === null)) summary.emptyRowsSkipped += 1;
      else yield row;
    }
  }
  return { rows: rows(), summary: () => summary };
}

/** @throws CsvProblem */
function delimiterNamed(declared: string): Delimiter {
  const delimiter = delimiters.find((one) => one === declared);
  if (delimiter) return delimiter;
  const others = delimiters.map((one) => JSON.stringify(one)).join(', ');
  throw new CsvProblem(`the file says that ${JSON.stringify(declared)} separates fields; it may be one of ${others}`, 1);
}

async function* records(
  texts: AsyncIterable<string>,
  delimiter: Delimiter,
  firstLine: number,
  onColumn: (name: string, line: number) => void,
): AsyncGenerator<CsvRow, void> {
  // The parser runs ahead of the rows that are taken from it, so it keeps its own count for its own errors.
  let lineAfterLastRow = firstLine;
  const addName = headerNames(firstLine, onColumn);
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    from_line: firstLine,
    info: true,
    // An unquoted empty field is no value, "" is an empty text.
    cast: (value, { quoting, records }) => {
      // A header with too many columns ends the reading here: `onColumn` throws.
      if (records === 0) addName(quoting ? value : value.trim());
      return value === '' && !quoting ? null : value;
    },
    skip_empty_lines: true,
    relax_column_count: true,
    on_record: (record, { lines }) => {
      lineAfterLastRow = lines + 1;
      return record;
    },
    max_record_size: MAX_ROW_CHARACTERS,
  });
  // Errors of either end reach the loop below through the parser; leaving the loop ends both.
  pipeline(Readable.from(texts), parser, () => undefined);
  let columnCount: number | undefined;
  let line = firstLine;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: (string | null)[]; info: { lines: number } }>) {
      if (columnCount === undefined) columnCount = record.length;
      else if (record.length !== columnCount) throw new CsvProblem(unequal(record.length, columnCount, delimiter), line);
      else yield { cells: record, line };
      line = info.lines + 1;
    }
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    const at = cause.code === 'CSV_QUOTE_NOT_CLOSED' ? lineAfterLastRow : Number(cause.lines);
    throw new CsvProblem(problemOf(cause), at, { cause });
  }
}

function unequal(fields: number, columns: number, delimiter: Delimiter): string {
  const problem = `${fields} fields, but the header names ${columns} columns`;
  return delimiter === ',' ? problem : `${problem} when ${JSON.stringify(delimiter)} separates fields`;
}

function problemOf({ code }: CsvError): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quoted field that starts in this row is never closed';
  if (code === 'CSV_MAX_RECORD_SIZE') return `the row is longer than ${MAX_ROW_CHARACTERS} characters`;
  return 'a quote stands inside an unquoted field, or text follows a closing quote';
}

/** Takes the names of a header one after the other. */
function headerNames(line: number, onColumn: (name: string, line: number) => void): (name: string) => void {
  const known = new Set<string>();
  return (name) => {
    if (name === '') throw new CsvProblem(`column ${known.size + 1} of the header has no name`, line);
    if (name.includes('\u0000'))
      throw new CsvProblem(`the name of column ${known.size + 1} holds NUL: the file is no text`, line);
    if (known.has(name)) throw new CsvProblem(`the header names column ${JSON.stringify(name)} twice`, line);
    known.add(name);
    onColumn(name, line);
  };
}
