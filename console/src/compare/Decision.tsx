import { comparedFigure } from '../../../shared/figures/comparedFigure.ts';
import type { Comparison } from '../data/comparison.ts';
import { countText } from '../parts/format.ts';
import styles from './ComparePage.module.css';

/** Shows the verdict on one metric of one experiment: its sentence, what would decide it, and its warnings. */
export function Decision({ comparison }: { comparison: Comparison }) {
  const { sentence, warnings, test, method, table } = comparison;
  return (
    <section className={styles.decision} aria-label={`Verdict on ${comparison.metric}`}>
      <p>{sentence}</p>
      {test !== null && <WhatDecides comparison={comparison} />}
      {warnings.length > 0 && (
        <ul className={styles.warnings}>
          {warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
      {table && <Categories table={table} />}
      {method && <p className="quiet">{method}</p>}
    </section>
  );
}

function WhatDecides({ comparison }: { comparison: Comparison }) {
  const { differs, rows, rows_to_decide: needed, detectable } = comparison;
  if (differs) return null;
  const reach = detectable === null ? undefined : comparedFigure(comparison).difference(detectable).replace('+', '');
  return (
    <p>
      <strong>What would decide it: </strong>
      {needed === null
        ? 'no number of rows can be named: there is no difference to go by.'
        : `about ${countText(needed)} rows, ${countText(needed - rows)} more than now, if the difference stays as it is.`}
      {reach !== undefined && ` A true difference below ${reach} is mostly not found with ${countText(rows)} rows.`}
    </p>
  );
}

/** How many rows have one label in the baseline, and another in the experiment. */
function Categories({ table: { categories, counts } }: { table: NonNullable<Comparison['table']> }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section className={styles.categories} aria-label="Labels" tabIndex={0}>
      <table>
        <caption className="quiet">Rows by their label in the baseline (left) and in the experiment (above)</caption>
        <thead>
          <tr>
            <td />
            {categories.map((label) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {categories.map((label, index) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {categories.map((other, at) => (
                <td key={other} className="number" data-same={index === at}>
                  {countText(counts[index]?.[at])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
