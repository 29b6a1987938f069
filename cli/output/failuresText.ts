import type { FailedRow, FailureReason } from '../failures/failureReasons.ts';
import type { Failures } from '../failures/readFailures.ts';
import { counted, withoutControlCharacters } from '../terminal/terminal.ts';
import { cut } from './table.ts';

const MAX_SHOWN = 10;

/** Why rows failed, each reason with its count and three rows; lines of at most `width` characters. */
export function failuresText({ reasons, read, failed }: Failures, projectId: string, width: number): string {
  const shown = reasons.slice(0, MAX_SHOWN);
  const others = reasons.slice(MAX_SHOWN);
  const figures = String(shown[0]?.count ?? 0).length;
  const trials = reasons.some(({ examples }) => examples.some(({ trial }) => trial !== null && trial > 0));
  const [first] = shown.flatMap(({ examples }) => examples);
  const lines = [
    `Why ${counted(failed, 'row')} failed${read < failed ? `, as far as ${read} of them say` : ''}:`,
    ...shown.flatMap((reason) => linesOf(reason, figures, trials)),
    ...(others.length > 0
      ? [
          `and ${counted(others.length, 'other reason')}, of ${counted(
            others.reduce((sum, { count }) => sum + count, 0),
            'row',
          )}`,
        ]
      : []),
  ];
  const next = first ? [`See one: assay logs show ${first.trace_id} --project-id ${projectId}`] : [];
  return [...lines.map((line) => cut(withoutControlCharacters(line), width)), ...next].join('\n');
}

const linesOf = ({ reason, count, examples }: FailureReason, figures: number, trials: boolean): string[] => [
  `${String(count).padStart(figures + 2)} × ${reason}`,
  ...examples.map((row) => `${' '.repeat(figures + 5)}${placeOf(row, trials)}  ${messageBeside(row, reason)}`.trimEnd()),
];

const placeOf = ({ row, trial, trace_id }: FailedRow, trials: boolean): string =>
  [...(row === null ? [] : [`row ${row}`]), ...(trials && trial !== null ? [`trial ${trial}`] : []), `trace ${trace_id}`].join(
    ', ',
  );

/** Returns the part that the reason does not say already. */
const messageBeside = ({ message }: FailedRow, reason: string): string => {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  return line === reason ? '' : line;
};
