import { useId, useState } from 'react';
import { Field } from '../parts/Field.tsx';
import styles from './MoreSettings.module.css';
import { SettingInput, useTyped } from './SettingInput.tsx';
import { askedSetting, linesOf, type NumberSetting, sequencesOf, settingFields, settingProblem } from './settingFields.ts';

interface Props {
  settings: Readonly<Record<string, unknown>>;
  onChange(name: string, value: unknown): void;
}

const numbers = settingFields.filter(
  (field): field is NumberSetting => 'step' in field && field.name !== 'temperature' && field.name !== 'max_tokens',
);

const NOT_SENT = 'Medium is what a prompt has where nothing is set: no model is sent it.';
const choices = [
  { name: 'reasoning_effort', label: 'Reasoning effort', values: ['none', 'minimal', 'low', 'high', 'xhigh'] },
  { name: 'verbosity', label: 'Verbosity', values: ['low', 'high'] },
] as const;

const names = [...numbers.map(({ name }) => name), ...choices.map(({ name }) => name), 'stop_sequences', 'response_format'];

/** The settings that few need. What is set shows in the name of the button; what is wrong opens them. */
export function MoreSettings({ settings, onChange }: Props) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const set = names.filter((name) => askedSetting(name, settings[name]) !== null).length;
  // They stay open when it is put right.
  if (!isOpen && numbers.some((field) => settingProblem(field, settings[field.name]) !== undefined)) setOpen(true);
  return (
    <div className={styles.more}>
      <button type="button" className="plain" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
        More settings{set > 0 && `, ${set} set`}
      </button>
      <div id={id} className={styles.fields} hidden={!isOpen}>
        {isOpen && (
          <>
            {numbers.map((field) => (
              <SettingInput
                key={field.name}
                field={field}
                value={settings[field.name]}
                onChange={(value) => onChange(field.name, value)}
              />
            ))}
            {choices.map(({ name, label, values }) => (
              <Choice
                key={name}
                label={label}
                values={values}
                value={askedSetting(name, settings[name])}
                hint={NOT_SENT}
                onChange={(value) => onChange(name, value)}
              />
            ))}
            <ResponseFormat value={settings.response_format} onChange={(value) => onChange('response_format', value)} />
            <StopSequences value={settings.stop_sequences} onChange={(value) => onChange('stop_sequences', value)} />
          </>
        )}
      </div>
    </div>
  );
}

interface ChoiceProps {
  label: string;
  /** A value that is not among them stays. */
  values: readonly string[];
  value: unknown;
  hint: string;
  onChange(value: string | null): void;
}

function Choice({ label, values, value, hint, onChange }: ChoiceProps) {
  const now = value === null ? '' : String(value);
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <select {...control} value={now} onChange={({ target }) => onChange(target.value || null)}>
          <option value="">default</option>
          {[...new Set([...values, ...(now === '' ? [] : [now])])].map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A schema, or what else only programs write, stays as it is until another format is chosen. */
function ResponseFormat({ value, onChange }: { value: unknown; onChange(value: unknown): void }) {
  const [kept] = useState(value);
  const typeOf = (format: unknown): string => String((format as { type?: unknown } | null | undefined)?.type ?? '');
  const formats = ['text', 'json_object', typeOf(kept)].filter((one) => one !== '');
  const format = (type: string) => (type === '' ? null : type === typeOf(kept) ? kept : { type });
  return (
    <Field label="Response format" hint="For JSON most models want the word JSON in a message.">
      {(control) => (
        <select {...control} value={typeOf(value)} onChange={({ target }) => onChange(format(target.value))}>
          <option value="">default</option>
          {[...new Set(formats)].map((one) => (
            <option key={one} value={one}>
              {formatNames[one] ?? one}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

const formatNames: Record<string, string> = { text: 'text', json_object: 'JSON', json_schema: 'JSON of a schema' };

function StopSequences({ value, onChange }: { value: unknown; onChange(value: string[] | null): void }) {
  const [text, setTyped] = useTyped(askedSetting('stop_sequences', value), linesOf, sequencesOf);
  return (
    <Field
      label="Stop sequences"
      hint="One a line; \n is a line break in one. The answer ends before the first that comes."
      className={styles.wide}
    >
      {(control) => (
        <textarea
          {...control}
          rows={2}
          value={text}
          onChange={({ target }) => {
            setTyped(target.value);
            onChange(sequencesOf(target.value));
          }}
        />
      )}
    </Field>
  );
}
