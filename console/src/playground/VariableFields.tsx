import { useId } from 'react';
import type { ValueSource } from '../data/playground.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import type { PlaygroundDraft } from './draft.ts';
import styles from './Playground.module.css';
import { RowPicker } from './RowPicker.tsx';

interface Props {
  projectId: string;
  /** The variables of the messages. */
  names: readonly string[];
  /** Their values in the row or the record. */
  given: Readonly<Record<string, string>>;
  draft: PlaygroundDraft;
  source: ValueSource | undefined;
  error: unknown;
  onChange(changed: Partial<PlaygroundDraft>): void;
}

/** The values of the variables: typed, or taken from a row. A typed value goes before that of the row. */
export function VariableFields({ projectId, names, given, draft, source, error, onChange }: Props) {
  const { values } = draft;
  const row = source && 'index' in source ? source : undefined;
  const without = (name: string) => Object.fromEntries(Object.entries(values).filter(([one]) => one !== name));
  return (
    <section aria-label="Variables" className={styles.variables}>
      <h2>Variables</h2>
      <RowPicker projectId={projectId} row={row} onRow={(next) => onChange({ row: next ?? null })} />
      {error !== null && error !== undefined && <ErrorNote error={error} />}
      {names.length === 0 && (
        <p className="quiet">
          None yet: write one as <code>{'{{input}}'}</code> in a message.
        </p>
      )}
      {names.map((name) => (
        <VariableField
          key={name}
          name={name}
          typed={values[name]}
          given={given[name]}
          from={row ? 'row' : 'record'}
          onType={(text) => onChange({ values: text === undefined ? without(name) : { ...values, [name]: text } })}
        />
      ))}
    </section>
  );
}

interface FieldProps {
  name: string;
  typed: string | undefined;
  given: string | undefined;
  from: string;
  /** Undefined: what is given counts again. */
  onType(text: string | undefined): void;
}

function VariableField({ name, typed, given, from, onType }: FieldProps) {
  const id = useId();
  const value = typed ?? given ?? '';
  const start = value.slice(0, 2_000);
  return (
    <div className={styles.variable}>
      <div className={styles.variableHead}>
        <label htmlFor={id}>
          <code>{name}</code>
        </label>
        {typed !== undefined && given !== undefined && (
          <button type="button" className="plain" aria-label={`Take the ${from}’s ${name}`} onClick={() => onType(undefined)}>
            Take the {from}’s
          </button>
        )}
      </div>
      <textarea
        id={id}
        value={value}
        // A variable that the row leaves empty may be empty.
        required={given === undefined}
        rows={Math.min(8, Math.max(1, Math.ceil(start.length / 60), start.split('\n').length))}
        onChange={(event) => onType(event.target.value)}
      />
    </div>
  );
}
