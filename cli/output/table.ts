import stringWidth from 'string-width';
import { withoutControlCharacters } from '../terminal/terminal.ts';

export interface TableColumn {
  title: string;
  /** Figures stand to the right, and are never cut: a figure without its last digits is another one. */
  figure?: boolean;
}

/** A time of the service to the minute, in UTC. */
export const minuteOf = (time: string): string => time.slice(0, 16).replace('T', ' ');

const GAP = 2;
const LEAST_TEXT = 8;

/**
 * A table of at most so many characters a line. Texts that do not fit are cut, with `…`; where even that does not help, each row becomes a list of
 * its own, a cell a line.
 */
export function table(columns: readonly TableColumn[], rows: readonly (readonly string[])[], width: number): string {
  const cells = rows.map((row) =>
    columns.map((_column, index) =>
      withoutControlCharacters(row[index] ?? '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ),
  );
  const wanted = columns.map(({ title }, index) =>
    Math.max(stringWidth(title), ...cells.map((row) => stringWidth(row[index] ?? ''))),
  );
  const widths = fitted(columns, wanted, width);
  if (!widths) return cells.map((row) => asList(columns, row, width)).join('\n\n');
  const line = (texts: readonly string[]) =>
    columns
      .map(({ figure }, index) => padded(cut(texts[index] ?? '', widths[index] ?? 0), widths[index] ?? 0, figure === true))
      .join(' '.repeat(GAP))
      .trimEnd();
  return [
    line(columns.map(({ title }) => title)),
    widths.map((each) => '─'.repeat(each)).join(' '.repeat(GAP)),
    ...cells.map(line),
  ].join('\n');
}

/** The widest texts give first. Undefined where the figures alone leave no room. */
function fitted(columns: readonly TableColumn[], wanted: readonly number[], width: number): number[] | undefined {
  const widths = [...wanted];
  let over = widths.reduce((sum, each) => sum + each, GAP * (columns.length - 1)) - width;
  while (over > 0) {
    const texts = columns.flatMap(({ figure }, index) => (figure || (widths[index] ?? 0) <= LEAST_TEXT ? [] : [index]));
    const widest = Math.max(...texts.map((index) => widths[index] ?? 0));
    const index = texts.find((each) => widths[each] === widest);
    if (index === undefined) return undefined;
    widths[index] = widest - 1;
    over--;
  }
  return widths;
}

function asList(columns: readonly TableColumn[], row: readonly string[], width: number): string {
  const room = Math.max(...columns.map(({ title }) => stringWidth(title)));
  const lines = columns.map(({ title }, index) => `${padded(title, room, false)}  ${row[index] ?? ''}`.trimEnd());
  return lines.map((line) => cut(line, width)).join('\n');
}

const padded = (text: string, width: number, left: boolean): string => {
  const space = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return left ? space + text : text + space;
};

/** Whole characters: an emoji takes two places, and is not cut in half. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let taken = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (stringWidth(taken + segment) > width - 1) break;
    taken += segment;
  }
  return `${taken}…`;
}
