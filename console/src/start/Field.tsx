import { type ComponentProps, type ReactNode, useId } from 'react';
import styles from './StartPage.module.css';
import { useStartForm } from './startForm.ts';
import type { Field, Problem } from './startPlan.ts';

interface FieldProps {
  label: string;
  field: Field;
  hint?: ReactNode;
  children(control: { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined }): ReactNode;
}

/** A label, its field, and below it what is wrong with it. */
export function LabelledField({ label, field, hint, children }: FieldProps) {
  const id = useId();
  const { problemsAt } = useStartForm();
  const problems = problemsAt(field);
  const said = problems.length > 0 || hint !== undefined ? `${id}-said` : undefined;
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': said, 'aria-invalid': problems.length > 0 ? true : undefined })}
      {said && (
        <div id={said} className={styles.said}>
          {hint !== undefined && <p className="quiet">{hint}</p>}
          <Problems problems={problems} />
        </div>
      )}
    </div>
  );
}

export const Problems = ({ problems }: { problems: readonly Problem[] }) =>
  problems.map(({ message }) => (
    <p key={message} role="alert" className="bad">
      {message}
    </p>
  ));

type TextName = Exclude<Field, 'metrics' | 'tags' | 'form' | 'model' | 'rows' | 'runner' | 'operator' | 'failedRows'>;
interface TextFieldProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange' | 'id'> {
  label: string;
  field: TextName;
  hint?: ReactNode;
}

/** A field of the form in which something is typed. */
export function TextField({ label, field, hint, ...input }: TextFieldProps) {
  const { draft, change } = useStartForm();
  return (
    <LabelledField {...{ label, field, hint }}>
      {(control) => (
        <input
          {...control}
          {...input}
          autoComplete="off"
          value={draft[field]}
          onChange={(event) => change({ [field]: event.target.value })}
        />
      )}
    </LabelledField>
  );
}

/** One for a whole number. */
export const NumberField = (props: TextFieldProps) => <TextField type="number" step={1} min={0} {...props} />;
