/** Separators of the fields of a CSV file, the most usual first. */
export const delimiters = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof delimiters)[number];

/** Characters of a file by which its delimiter is detected. */
export const HEAD_CHARACTERS = 65_536;

/**
 * The character that Excel writes into a line of its own above the header: `sep=;`. A program that has read the file in between may have put quotes around
 * it, or delimiters and blanks behind it.
 * @returns undefined without such a line
 */
export const declaredDelimiter = (head: string): string | undefined =>
  /^(?:"sep=(?<quoted>[^\r\n"])"|sep=(?<plain>[^\r\n]))[ ,;\t|]*(?:[\r\n]|$)/i
    .exec(head)
    ?.slice(1)
    .find((found) => found !== undefined);

/**
 * The delimiter by which the records at the beginning of a CSV file have as many fields as its header; of several, the one that makes the most fields. One
 * that belongs to the text of the records, as before a blank or as the comma of 1,5, gives way to one that does not.
 * Where none does, the one that the header has most often, so that the first record that does not fit is an error. A header without any has one column.
 * @param head the first {@link HEAD_CHARACTERS} of the file, or all of it
 */
export function detectDelimiter(head: string): Delimiter {
  const [header, ...records] = delimiterCounts(head, head.length >= HEAD_CHARACTERS);
  if (!header) return ',';
  const count = (delimiter: Delimiter) => header.all[delimiters.indexOf(delimiter)] as number;
  const inHeader = delimiters.filter((delimiter) => count(delimiter) > 0);
  const fitting = inHeader.filter((delimiter) => {
    const at = delimiters.indexOf(delimiter);
    return records.every((record) => record.all[at] === header.all[at]);
  });
  const separating = fitting.filter((delimiter) => {
    const at = delimiters.indexOf(delimiter);
    return records.length === 0 || records.some((record) => record.inText[at] !== record.all[at]);
  });
  const candidates = [separating, fitting, inHeader].find(({ length }) => length > 0) ?? [];
  const most = Math.max(...candidates.map(count));
  return candidates.find((delimiter) => count(delimiter) === most) ?? ',';
}

/** How often each delimiter stands in a record outside of quotes: everywhere, and where it may belong to a text or a number. */
interface DelimiterCounts {
  all: number[];
  inText: number[];
}

const noCounts = (): DelimiterCounts => ({ all: delimiters.map(() => 0), inText: delimiters.map(() => 0) });

/** Counts the delimiters of each record that is no blank line. */
function delimiterCounts(head: string, isCut: boolean): DelimiterCounts[] {
  const records: DelimiterCounts[] = [];
  let counts = noCounts();
  let isQuoted = false;
  let isBlank = true;
  const endRecord = () => {
    if (!isBlank) records.push(counts);
    counts = noCounts();
    isBlank = true;
  };
  for (let place = 0; place < head.length; place++) {
    const character = head[place] as string;
    if (character === '"') isQuoted = !isQuoted;
    if (!isQuoted && (character === '\n' || character === '\r')) {
      endRecord();
      continue;
    }
    isBlank = false;
    if (isQuoted) continue;
    const at = delimiters.indexOf(character as Delimiter);
    if (at < 0) continue;
    counts.all[at] = (counts.all[at] as number) + 1;
    if (isInText(head, place)) counts.inText[at] = (counts.inText[at] as number) + 1;
  }
  if (!isCut) endRecord();
  return records;
}

const isInText = (head: string, at: number): boolean =>
  head[at + 1] === ' ' || (head[at] === ',' && isDigit(head[at - 1]) && isDigit(head[at + 1]));

const isDigit = (character: string | undefined): boolean => character !== undefined && character >= '0' && character <= '9';
