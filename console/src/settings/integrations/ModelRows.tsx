import styles from '../Settings.module.css';

/** A model of an endpoint; what it takes comes from a model that it is based on, or from a list, which stays as it is stored. */
export interface ModelRow {
  name: string;
  alias?: string | null;
  based_on?: string | null;
  supported_parameters?: string[] | null;
}

const columns = [
  ['name', 'Name at the endpoint'],
  ['alias', 'Called here'],
  ['based_on', 'Takes what this one takes'],
] as const;

/** The models of an endpoint of one's own; without any it takes whatever name is asked for. */
export function ModelRows({ rows, onChange }: { rows: readonly ModelRow[]; onChange(rows: ModelRow[]): void }) {
  const set = (index: number, column: (typeof columns)[number][0], text: string) =>
    onChange(rows.map((row, at) => (at === index ? { ...row, [column]: text } : row)));
  return (
    <fieldset className={styles.models}>
      <legend>Models</legend>
      {rows.length === 0 && <p className="quiet">None is listed: the endpoint takes whatever name is asked for.</p>}
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a model has no other identity while its name is typed
        <div key={index} className={styles.row}>
          {columns.map(([column, label]) => (
            <div key={column}>
              <label>
                {label}
                <input
                  aria-label={`${label}, model ${index + 1}`}
                  required={column === 'name'}
                  autoComplete="off"
                  value={row[column] ?? ''}
                  onChange={({ target }) => set(index, column, target.value)}
                />
              </label>
            </div>
          ))}
          <button
            type="button"
            aria-label={`Remove model ${index + 1}`}
            onClick={() => onChange(rows.filter((_row, at) => at !== index))}
          >
            Remove
          </button>
        </div>
      ))}
      <div>
        <button type="button" onClick={() => onChange([...rows, { name: '' }])}>
          Add a model
        </button>
      </div>
    </fieldset>
  );
}

/** The models as they are sent; null where none is listed. */
export const modelsFrom = (rows: readonly ModelRow[]) =>
  rows.length === 0
    ? null
    : rows.map(({ name, alias, based_on, supported_parameters }) => ({
        name: name.trim(),
        ...(alias?.trim() ? { alias: alias.trim() } : {}),
        ...(based_on?.trim() ? { based_on: based_on.trim() } : {}),
        ...(supported_parameters && !based_on?.trim() ? { supported_parameters } : {}),
      }));
