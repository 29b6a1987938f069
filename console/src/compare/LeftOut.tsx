import type { ComparisonQuestion, FoundComparison, LeftOut } from '../data/comparison.ts';
import styles from './ComparePage.module.css';
import { useCompareAddress } from './useCompareAddress.ts';

/** Experiments that are not among those compared, with the reason of each. */
export function LeftOutNote({ leftOut, question }: { leftOut: readonly LeftOut[]; question: ComparisonQuestion }) {
  const [, change] = useCompareAddress();
  const rest = question.others.filter((id) => !leftOut.some((one) => one.id === id));
  return (
    <div role="alert" className={styles.notes}>
      <div>
        <p>{leftOut.length === 1 ? 'One experiment is' : `${leftOut.length} experiments are`} not compared, the others are:</p>
        <Reasons leftOut={leftOut} />
      </div>
      <button type="button" onClick={() => change({ with: rest }, { replace: true })}>
        Take {leftOut.length === 1 ? 'it' : 'them'} out of the address
      </button>
    </div>
  );
}

/** A page of its own for a comparison that cannot be: what was compared is gone, or has no row in common. */
export function NothingToCompare({ found: { leftOut, isBaselineGone } }: { found: FoundComparison }) {
  const areGone = leftOut.every(({ isGone }) => isGone);
  return (
    <section role="alert" className={styles.nothing}>
      <h2>{isBaselineGone || areGone ? 'Deleted meanwhile' : 'Nothing in common'}</h2>
      {isBaselineGone && <p>The baseline is not there any more. Choose another above.</p>}
      {!isBaselineGone && areGone && <p>What was compared with the baseline is not there any more. Choose another above.</p>}
      {!isBaselineGone && !areGone && (
        <>
          <Reasons leftOut={leftOut} />
          <p>
            Experiments are compared row by row, so they need rows of one dataset, or the same inputs. Choose others above, or run
            both over one dataset.
          </p>
        </>
      )}
    </section>
  );
}

const Reasons = ({ leftOut }: { leftOut: readonly LeftOut[] }) => (
  <ul className={styles.warnings}>
    {leftOut.map(({ id, isGone, said }) => (
      <li key={id}>{isGone ? `${id.slice(0, 8)}…: ${said}` : said}</li>
    ))}
  </ul>
);
