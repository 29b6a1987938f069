import type { FileFormat } from '../../../../shared/datasetFiles/fileItems.ts';
import { mappedRow, type Targets } from '../../../../shared/datasetFiles/mappedRow.ts';
import type { Survey } from '../../../../shared/datasetFiles/survey.ts';
import { lineText } from '../../parts/format.ts';
import styles from './ImportDialog.module.css';

const ROWS = 5;
const COLUMNS = 12;

/** The first rows as they will be in the dataset. */
export function Preview({ found, targets, format }: { found: Survey; targets: Targets; format: FileFormat }) {
  const rows = found.sample.slice(0, ROWS).map((cells) => mappedRow(cells, targets, format));
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = all.slice(0, COLUMNS);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys
    <section className={styles.scrolled} aria-label="Preview" tabIndex={0}>
      <table className={styles.table}>
        <caption className="only-read">The first rows as they will be</caption>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            {all.length > columns.length && <th scope="col">…</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a file have no ids
            <tr key={index}>
              {columns.map((name) => (
                <td key={name} className="one-line">
                  {lineText(row[name], 120)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
