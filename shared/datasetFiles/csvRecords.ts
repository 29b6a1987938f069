import type { Delimiter } from '../csv/detectDelimiter.ts';

/** A record of a CSV file, read as far as it can be. */
export interface CsvRecord {
  /** Null for an unquoted empty field, `''` for a quoted one. */
  fields: (string | null)[];
  /** Line of the file where the record starts, from 1. */
  line: number;
  /** The record as it stands in the file, without its line end. */
  text: string;
  /** The fault of its quotes. */
  problem: string | undefined;
}

/**
 * Yields the records of a CSV file by the rules of the service. One rule differs: a broken quote counts as text, so it costs no more than its line.
 * Blank lines are left out.
 * @param texts the file in pieces, without a byte order mark
 */
export async function* csvRecords(
  texts: AsyncIterable<string>,
  delimiter: Delimiter,
  firstLine: number,
): AsyncGenerator<CsvRecord, void> {
  const field = new RegExp(`[${delimiter === '|' ? '\\|' : delimiter}\r\n]`, 'g');
  let rest = '';
  let line = 1;
  // A record that is longer than a piece is read again when there is twice as much of it.
  let enough = 0;
  const read = function* (isEnd: boolean): Generator<CsvRecord, void> {
    let at = 0;
    while (at < rest.length) {
      const record = recordAt(rest, at, field, isEnd);
      if (!record) break;
      const text = rest.slice(at, record.textEnd);
      if (text !== '' && line >= firstLine) yield { fields: record.fields, line, text, problem: record.problem };
      line += lineEnds(rest.slice(at, record.end));
      at = record.end;
    }
    rest = rest.slice(at);
    enough = 2 * rest.length;
  };
  for await (const text of texts) {
    rest += text;
    if (rest.length >= enough) yield* read(false);
  }
  yield* read(true);
}

const lineEnds = (text: string): number => text.match(/\r\n|\n|\r/g)?.length ?? 0;

/** Reads the record that starts at `start`. Returns undefined where its end is not in the text yet. */
function recordAt(text: string, start: number, field: RegExp, isEnd: boolean) {
  const fields: (string | null)[] = [];
  let problem: string | undefined;
  const plainEnd = (from: number): number => {
    field.lastIndex = from;
    return field.exec(text)?.index ?? text.length;
  };
  for (let at = start; ; ) {
    const quoted = text[at] === '"' ? quotedAt(text, at, isEnd) : undefined;
    if (quoted === 'open') return undefined;
    const end = plainEnd(quoted?.end ?? at);
    // A quote that is closed some lines further, in the middle of a field, was not meant to hold them.
    if (quoted && !(end > quoted.end && /[\r\n]/.test(quoted.value))) {
      if (end > quoted.end) problem ??= 'text follows a closing quote';
      fields.push(quoted.value + text.slice(quoted.end, end));
      at = end;
    } else {
      const end = plainEnd(at);
      const value = text.slice(at, end);
      if (value.startsWith('"')) problem ??= 'a quoted field that starts in this row is never closed';
      else if (value.includes('"')) problem ??= 'a quote stands inside an unquoted field';
      fields.push(value === '' ? null : value);
      at = end;
    }
    if (at >= text.length) return isEnd ? { fields, problem, textEnd: at, end: at } : undefined;
    const character = text[at];
    if (character !== '\r' && character !== '\n') {
      at += 1;
      continue;
    }
    if (character === '\r' && at + 1 >= text.length && !isEnd) return undefined;
    return { fields, problem, textEnd: at, end: at + (character === '\r' && text[at + 1] === '\n' ? 2 : 1) };
  }
}

/** Reads a quoted field. Returns `open` where its end is not in the text yet, and undefined where the file ends without it. */
function quotedAt(text: string, start: number, isEnd: boolean): { value: string; end: number } | 'open' | undefined {
  const parts: string[] = [];
  for (let from = start + 1; ; ) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return isEnd ? undefined : 'open';
    if (quote + 1 >= text.length && !isEnd) return 'open';
    parts.push(text.slice(from, quote));
    if (text[quote + 1] !== '"') return { value: parts.join(''), end: quote + 1 };
    parts.push('"');
    from = quote + 2;
  }
}
