import type { ReactNode } from 'react';
import { Field } from '../parts/Field.tsx';

interface Props {
  label: string;
  /** Said behind the rules of passwords. */
  hint: string;
  problem: string | undefined;
  value: string;
  onChange(password: string): void;
}

/** Asks for a new password, with the rules that the service holds it to. */
export const NewPasswordInput = ({ label, hint, problem, value, onChange }: Props): ReactNode => (
  <Field
    label={label}
    hint={`At least 8 characters, with an upper-case and a lower-case letter and a special one. ${hint}`}
    problem={problem}
  >
    {(of) => (
      <input
        {...of}
        type="password"
        required
        autoComplete="new-password"
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    )}
  </Field>
);
