import { useState } from 'react';
import { Field } from '../parts/Field.tsx';
import { askedSetting, type NumberSetting, rangeOf, settingProblem } from './settingFields.ts';

/** The typed text, as long as it means the value: `0.` and a line that is still empty stay as they are. */
export function useTyped<T>(value: T, write: (value: T) => string, read: (text: string) => T) {
  const [typed, setTyped] = useState(() => write(value));
  const text = JSON.stringify(read(typed)) === JSON.stringify(value) ? typed : write(value);
  return [text, setTyped] as const;
}

interface Props {
  field: NumberSetting;
  value: unknown;
  hint?: string | undefined;
  onChange(value: number | null): void;
}

/** A number of the settings of a model. Empty: the provider's default. */
export function SettingInput({ field, value, hint, onChange }: Props) {
  const read = (text: string): unknown => (text === '' ? null : askedSetting(field.name, Number(text)));
  const [text, setTyped] = useTyped(askedSetting(field.name, value), (asked) => String(asked ?? ''), read);
  return (
    <Field label={field.label} hint={hint} problem={settingProblem(field, value)}>
      {(control) => (
        <input
          {...control}
          {...rangeOf(field)}
          value={text}
          onChange={({ target }) => {
            setTyped(target.value);
            onChange(target.value === '' ? null : Number(target.value));
          }}
        />
      )}
    </Field>
  );
}
