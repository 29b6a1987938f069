import { Field } from '../../parts/Field.tsx';
import type { FieldOfProvider } from './providerFields.ts';

interface Props {
  field: FieldOfProvider;
  value: string;
  problem: string | undefined;
  onChange(text: string): void;
}

/** A field of a provider's settings, by its kind. */
export function ProviderField({
  field: { label, kind, options = [], hint, isSecret, isRequired = false },
  value,
  problem,
  onChange,
}: Props) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(of) => {
        if (kind === 'choice')
          return (
            <select {...of} value={value} onChange={({ target }) => onChange(target.value)}>
              {options.map(([one, text]) => (
                <option key={one} value={one}>
                  {text}
                </option>
              ))}
            </select>
          );
        if (kind === 'flag')
          return (
            <input
              {...of}
              type="checkbox"
              checked={value === 'true'}
              onChange={({ target }) => onChange(target.checked ? 'true' : '')}
            />
          );
        if (kind === 'map' || kind === 'json')
          return <textarea {...of} rows={3} spellCheck={false} value={value} onChange={({ target }) => onChange(target.value)} />;
        const type = isSecret ? 'password' : kind;
        return (
          <input
            {...of}
            {...{ type, value, required: isRequired, ...(type === 'number' && { min: 1 }) }}
            autoComplete={isSecret ? 'new-password' : 'off'}
            spellCheck={false}
            onChange={({ target }) => onChange(target.value)}
          />
        );
      }}
    </Field>
  );
}
