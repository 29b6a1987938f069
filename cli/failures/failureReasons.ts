/** A row that failed. */
export interface FailedRow {
  /** Position in the dataset, from 0; null of a trace that no run recorded. */
  row: number | null;
  /** Repetition of the row, from 0. */
  trial: number | null;
  trace_id: string;
  message: string;
}

/** Rows that failed for the same reason. */
export interface FailureReason {
  /** Their message; where they differ in numbers and ids, with `<n>`, `<id>` and `<time>` for those. */
  reason: string;
  count: number;
  /** The first three. */
  examples: FailedRow[];
}

const EXAMPLES = 3;
/** More reasons than that are as good as none: what stands in quotes then makes no difference, either. */
const MAX_REASONS = 10;

/** Rows by why they failed, the most frequent reason first. */
export function failureReasons(rows: readonly FailedRow[]): FailureReason[] {
  const reasons = groupedBy(rows, withoutIds);
  return reasons.length > MAX_REASONS ? groupedBy(rows, (message) => withoutIds(withoutQuoted(message))) : reasons;
}

function groupedBy(rows: readonly FailedRow[], reasonOf: (message: string) => string): FailureReason[] {
  return [...Map.groupBy(rows, ({ message }) => reasonOf(message))]
    .map(([reason, those]) => {
      const [first] = those as [FailedRow, ...FailedRow[]];
      const isOne = those.every(({ message }) => message === first.message);
      return { reason: isOne ? oneLine(first.message) : reason, count: those.length, examples: those.slice(0, EXAMPLES) };
    })
    .sort((a, b) => b.count - a.count);
}

/** A status says what went wrong, other numbers say where. Names with a number in them, as those of models, keep it. */
const parts = new RegExp(
  [
    String.raw`(?<status>\b(?:status(?:[ _]code)?|HTTP(?:/\d(?:\.\d)?)?|answered|error|code)[\s:=]+\d{3}\b)`,
    String.raw`(?<id>\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b|\b0x[\da-f]+\b|\b(?=[a-z_-]*\d)[\da-f]{10,}\b|\b[a-z]+[_-](?=\w*\d)(?=\w*[a-z])\w{8,}\b|\b(?=\w*\d)(?=\w*[a-z])\w{16,}\b)`,
    String.raw`(?<time>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b)`,
    String.raw`(?<number>(?<![\w.-])\d+-\d+(?![\w-])|(?<![\w.-])[+-]?\d+(?:[.,:_]\d+)*(?:e[+-]?\d+)?(?![\w]*-)|(?<=\b[a-z]+)\d+\b(?!-))`,
  ].join('|'),
  'gi',
);

function withoutIds(message: string): string {
  return oneLine(message).replace(parts, (whole, ...rest) => {
    const { id, time, number } = rest.at(-1) as Record<'id' | 'time' | 'number', string | undefined>;
    return id !== undefined ? '<id>' : time !== undefined ? '<time>' : number !== undefined ? '<n>' : whole;
  });
}

const withoutQuoted = (message: string): string => message.replaceAll(/"[^"]*"|`[^`]*`|(?<!\w)'[^']*'/g, '"…"');

const oneLine = (message: string): string => message.replaceAll(/\s+/g, ' ').trim();
