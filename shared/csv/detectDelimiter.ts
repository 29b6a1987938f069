/** What separates the fields of a CSV file, the most usual first. */
export const delimiters = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof delimiters)[number];

/** Characters of a file by which its delimiter is detected. */
export const HEAD_CHARACTERS = 65_536;

/**
 * The delimiter that Excel writes into a line of its own above the header: `sep=;`.
 * @returns undefined without such a line
 */
export const declaredDelimiter = (head: string): Delimiter | undefined => {
  const [, declared] = /^sep=([,;\t|])(?:[\r\n]|$)/i.exec(head) ?? [];
  return declared as Delimiter | undefined;
};

/**
 * The delimiter by which the records at the beginning of a CSV file have as many fields as its header; of several, the one that makes the most fields.
 * Where none does, the one that the header has most often, so that the first record that does not fit is an error. A header without any has one column.
 * @param head the first {@link HEAD_CHARACTERS} of the file, or all of it
 */
export function detectDelimiter(head: string): Delimiter {
  const [header, ...records] = delimiterCounts(head, head.length >= HEAD_CHARACTERS);
  if (!header) return ',';
  const count = (delimiter: Delimiter) => header[delimiters.indexOf(delimiter)] as number;
  const inHeader = delimiters.filter((delimiter) => count(delimiter) > 0);
  const fitting = inHeader.filter((delimiter) => {
    const at = delimiters.indexOf(delimiter);
    return records.every((record) => record[at] === header[at]);
  });
  const candidates = fitting.length > 0 ? fitting : inHeader;
  const most = Math.max(...candidates.map(count));
  return candidates.find((delimiter) => count(delimiter) === most) ?? ',';
}

/** How often each delimiter stands in each record that is no blank line, outside of quotes. */
function delimiterCounts(head: string, isCut: boolean): number[][] {
  const records: number[][] = [];
  let counts = delimiters.map(() => 0);
  let isQuoted = false;
  let isBlank = true;
  const endRecord = () => {
    if (!isBlank) records.push(counts);
    counts = delimiters.map(() => 0);
    isBlank = true;
  };
  for (const character of head) {
    if (character === '"') isQuoted = !isQuoted;
    if (!isQuoted && (character === '\n' || character === '\r')) {
      endRecord();
      continue;
    }
    isBlank = false;
    if (isQuoted) continue;
    const at = delimiters.indexOf(character as Delimiter);
    if (at >= 0) counts[at] = (counts[at] as number) + 1;
  }
  if (!isCut) endRecord();
  return records;
}
