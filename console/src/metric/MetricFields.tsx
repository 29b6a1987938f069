import styles from './Judge.module.css';

interface Named {
  name: string;
  description: string;
}

/** The name and the description of a metric. A version has the name of its metric. */
export function NameFields(props: { draft: Named; isNew: boolean; onChange(changed: Partial<Named>): void }) {
  const { draft, isNew, onChange } = props;
  return (
    <div className={styles.fields}>
      {isNew && (
        <label>
          Name
          <input
            value={draft.name}
            required
            pattern=".*\S.*"
            maxLength={255}
            autoComplete="off"
            onChange={(event) => onChange({ name: event.target.value })}
          />
        </label>
      )}
      <label className={styles.long}>
        What it measures
        <input value={draft.description} onChange={(event) => onChange({ description: event.target.value })} />
      </label>
    </div>
  );
}

interface ChoiceProps<V extends string> {
  label: string;
  value: V | undefined;
  /** Each value with its text. */
  options: readonly (readonly [V, string])[];
  onValue(value: V): void;
}

/** A choice of one of several values. */
export function ChoiceField<V extends string>({ label, value, options, onValue }: ChoiceProps<V>) {
  return (
    <label>
      {label}
      <select value={value ?? ''} onChange={(event) => onValue(event.target.value as V)}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
