import type { ComparedExperiment, ComparedTrace, Comparison } from '../data/comparison.ts';
import { costText, durationText, UNKNOWN } from '../parts/format.ts';
import { LongText } from '../payload/LongText.tsx';
import styles from './ComparedRows.module.css';
import { scoreText } from './comparedRow.ts';

interface Props {
  baseline: ComparedExperiment;
  experiment: ComparedExperiment;
  /** Its metric comes first. */
  comparison: Comparison;
  before: ComparedTrace | undefined;
  after: ComparedTrace | undefined;
}

/** The scores of both sides with their explanations, what the answers took and cost. */
export function RowScores({ baseline, experiment, comparison, before, after }: Props) {
  const sides = [before, after];
  const all = new Set(sides.flatMap((trace) => Object.keys(trace?.scores ?? {})));
  const names = [...all].sort((one, two) => Number(two === comparison.metric) - Number(one === comparison.metric));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section aria-label="Scores" className={styles.scores} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <th scope="col">{baseline.name}</th>
            <th scope="col">{experiment.name}</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {sides.map((trace, index) => (
                <Score key={index === 0 ? 'before' : 'after'} score={trace?.scores[name]} />
              ))}
            </tr>
          ))}
          <Measured name="duration" of={(trace) => durationText(trace.duration_ns)} sides={sides} />
          <Measured name="cost" of={(trace) => costText(trace.cost)} sides={sides} />
        </tbody>
      </table>
    </section>
  );
}

function Score({ score }: { score: ComparedTrace['scores'][string] | undefined }) {
  if (!score) return <td>{UNKNOWN}</td>;
  return (
    <td>
      {scoreText(score)}
      {score.explanation && (
        <div className={styles.explanation}>
          <LongText text={score.explanation} />
        </div>
      )}
    </td>
  );
}

function Measured(props: { name: string; of(trace: ComparedTrace): string; sides: readonly (ComparedTrace | undefined)[] }) {
  return (
    <tr>
      <th scope="row">{props.name}</th>
      {props.sides.map((trace, index) => (
        <td key={index === 0 ? 'before' : 'after'}>{trace ? props.of(trace) : UNKNOWN}</td>
      ))}
    </tr>
  );
}
