import type { Survey } from '../../../../shared/datasetFiles/survey.ts';
import { countText } from '../../parts/format.ts';
import styles from './ImportDialog.module.css';

interface Props {
  found: Survey;
  takesOdd: boolean;
  onTakesOdd(takesOdd: boolean): void;
  /** Saves what is left out as a file. */
  onSave(): Promise<void>;
}

/** Lists what is odd in a file, by its lines, and what becomes of it. Nothing is lost: rows that are left out can be saved. */
export function OddPlaces({ found, takesOdd, onTakesOdd, onSave }: Props) {
  const { odd, lost, places } = found;
  const rows = odd - lost;
  const out = takesOdd ? lost : odd;
  return (
    <section className={styles.odd} aria-label="Odd rows">
      <p>
        {countText(odd)} {odd === 1 ? 'line is' : 'lines are'} odd
      </p>
      <ul>
        {places.map(({ line, problem, isRow }) => (
          <li key={line}>
            Line {countText(line)}: {problem}
            {!isRow && <span className="quiet"> (no row)</span>}
          </li>
        ))}
        {odd > places.length && <li>and {countText(odd - places.length)} more</li>}
      </ul>
      {rows > 0 && (
        <label className={styles.check}>
          <input type="checkbox" checked={takesOdd} onChange={(event) => onTakesOdd(event.target.checked)} />
          Take these rows as far as they go: missing cells are empty, more cells get columns of their own
        </label>
      )}
      {out > 0 && (
        <p>
          {countText(out)} {out === 1 ? 'is' : 'are'} left out.{' '}
          <button type="button" onClick={() => void onSave()}>
            Save them as a file
          </button>
        </p>
      )}
    </section>
  );
}
