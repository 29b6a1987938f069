import { type ReactNode, useId } from 'react';
import styles from './Field.module.css';

interface Props {
  label: string;
  hint?: ReactNode;
  /** The field's problem, in a sentence. */
  problem?: string | undefined;
  className?: string | undefined;
  /** The control, which gets these. */
  children(control: { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean }): ReactNode;
}

/** A field of a form with its label, a hint, and what is wrong with it. */
export function Field({ label, hint, problem, className = '', children }: Props) {
  const id = useId();
  const described = [...(hint ? [`${id}-hint`] : []), ...(problem ? [`${id}-problem`] : [])].join(' ');
  return (
    <div className={`${styles.field} ${className}`}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': problem !== undefined })}
      {problem !== undefined && (
        <p id={`${id}-problem`} role="alert" className="bad">
          {problem}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className="quiet">
          {hint}
        </p>
      )}
    </div>
  );
}
