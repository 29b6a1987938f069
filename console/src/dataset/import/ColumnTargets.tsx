import type { FileCells } from '../../../../shared/datasetFiles/fileItems.ts';
import type { Target, Targets } from '../../../../shared/datasetFiles/mappedRow.ts';
import { countText, lineText } from '../../parts/format.ts';
import styles from './ImportDialog.module.css';

interface Props {
  columns: readonly string[];
  sample: readonly FileCells[];
  targets: Targets;
  onChange(column: string, target: Target): void;
}

const choices: readonly (readonly [Target, string])[] = [
  ['input', 'Input'],
  ['output', 'Reference answer'],
  ['generated_output', 'Answer to score'],
  ['metadata', 'Metadata'],
  ['own', 'A column of its own'],
  ['none', 'Leave it out'],
];

/** Columns beyond which the others stay as they are. */
const MOST = 100;

/** Asks for the meaning of each column of a file. */
export function ColumnTargets({ columns, sample, targets, onChange }: Props) {
  return (
    <div className={styles.scrolled}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Column</th>
            <th scope="col">Becomes</th>
            <th scope="col">For example</th>
          </tr>
        </thead>
        <tbody>
          {columns.slice(0, MOST).map((column) => (
            <tr key={column}>
              <th scope="row">{column}</th>
              <td>
                <select
                  aria-label={`${column} becomes`}
                  value={targets.get(column) ?? 'own'}
                  onChange={(event) => onChange(column, event.target.value as Target)}
                >
                  {choices.map(([target, label]) => (
                    <option key={target} value={target}>
                      {label}
                    </option>
                  ))}
                </select>
              </td>
              <td className="quiet one-line">{exampleOf(column, sample)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {columns.length > MOST && <p className="quiet">{countText(columns.length - MOST)} more stay columns of their own.</p>}
    </div>
  );
}

function exampleOf(column: string, sample: readonly FileCells[]): string {
  const values = sample.map((cells) => cells.find(([name]) => name === column)?.[1]);
  return lineText(
    values.find((value) => value !== undefined && value !== null),
    120,
  );
}
