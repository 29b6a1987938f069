import type { ReactNode } from 'react';
import type { Comparison } from '../data/comparison.ts';
import { countText } from '../parts/format.ts';
import { DifferencePicture } from './DifferencePicture.tsx';
import styles from './VerdictTable.module.css';
import { differenceTexts, limitOf, pOf, verdictOf } from './verdict.ts';

export interface VerdictLine {
  key: string;
  name: string;
  comparison: Comparison;
  isChosen: boolean;
  onChoose(): void;
}

interface Props {
  label: string;
  /** Head of the first column. */
  what: string;
  lines: readonly VerdictLine[];
  /** All pictures have one scale: of lines about one metric. */
  isOneScale?: boolean;
  /** Other metrics beside, each with its head and the comparison of a line. */
  beside?: readonly Beside[];
}

export interface Beside {
  name: string;
  onChoose(): void;
  of(line: VerdictLine): Comparison | undefined;
}

/** A line for each metric, experiment or slice: its verdict in words, the difference as picture and as number, and the rows it is made of. */
export function VerdictTable({ label, what, lines, isOneScale = false, beside = [] }: Props) {
  const limit = isOneScale ? limitOf(lines.map(({ comparison }) => comparison)) : undefined;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section className={styles.scroll} aria-label={label} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">{what}</th>
            <th scope="col">Verdict</th>
            <th scope="col" className={styles.picture}>
              <span className={styles.ends}>
                <span>← worse</span>
                <span>better →</span>
              </span>
            </th>
            <th scope="col" className="number">
              Difference
            </th>
            <th scope="col" className={`number ${styles.rows}`}>
              Rows
            </th>
            {beside.map(({ name, onChoose }) => (
              <th key={name} scope="col" className="number">
                <button type="button" className="plain" onClick={onChoose}>
                  {name}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Line key={line.key} line={line} limit={limit ?? limitOf([line.comparison])} beside={beside} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Line({ line, limit, beside }: { line: VerdictLine; limit: number; beside: readonly Beside[] }) {
  const { comparison, name, isChosen, onChoose } = line;
  const { difference, interval, means } = differenceTexts(comparison);
  const { rows, missing } = comparison;
  return (
    <tr aria-current={isChosen} onClick={onChoose}>
      <th scope="row">
        {/* The line takes its click. */}
        <button type="button" className={styles.name} aria-pressed={isChosen}>
          {name}
        </button>
        <Second>{means}</Second>
      </th>
      <td>
        <Verdict comparison={comparison} />
        <Second>{pOf(comparison)}</Second>
      </td>
      <td className={styles.picture}>
        <DifferencePicture comparison={comparison} limit={limit} />
      </td>
      <td className="number">
        {difference}
        <Second>{interval}</Second>
      </td>
      <td className={`number ${styles.rows}`}>
        <Changes comparison={comparison} />
        <Second>
          {countText(rows)} compared{missing > 0 && `, ${countText(missing)} missing`}
        </Second>
      </td>
      {beside.map((one) => (
        <td key={one.name} className="number">
          <Short comparison={one.of(line)} />
        </td>
      ))}
    </tr>
  );
}

const Second = ({ children }: { children: ReactNode }) => <span className={styles.second}>{children}</span>;

export function Verdict({ comparison }: { comparison: Comparison }) {
  const { word, tone } = verdictOf(comparison);
  return (
    <span className={styles.verdict} data-tone={tone}>
      {word}
    </span>
  );
}

/** How many rows are better and worse, or changed where the metric has no direction. */
function Changes({ comparison: { better, worse, same, rows } }: { comparison: Comparison }) {
  if (better === null || worse === null) return <>{countText(rows - same)} changed</>;
  return (
    <>
      <span className={styles.count} data-tone={better > 0 ? 'good' : 'none'}>
        {countText(better)} better
      </span>{' '}
      <span className={styles.count} data-tone={worse > 0 ? 'bad' : 'none'}>
        {countText(worse)} worse
      </span>
    </>
  );
}

/** A metric beside: its difference in the colour of its verdict, which is its title, too. */
function Short({ comparison }: { comparison: Comparison | undefined }) {
  if (!comparison) return <span className="quiet">–</span>;
  const { word, tone } = verdictOf(comparison);
  return (
    <span className={styles.verdict} data-tone={tone} title={comparison.sentence}>
      {differenceTexts(comparison).difference}
      <span className="only-read">, {word}</span>
    </span>
  );
}
