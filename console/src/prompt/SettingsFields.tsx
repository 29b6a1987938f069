import { MoreSettings } from './MoreSettings.tsx';
import { SettingInput } from './SettingInput.tsx';
import { settingFields } from './settingFields.ts';

type Settings = Readonly<Record<string, unknown>>;

interface Props {
  settings: Settings;
  onChange(settings: Record<string, unknown>): void;
  /** Id of a `datalist` with names of models. */
  models?: string;
}

const [temperature, maxTokens] = settingFields;

/** The model and the settings that have a field; the others stay as they are. */
export function SettingsFields({ settings, onChange, models }: Props) {
  const set = (name: string, value: unknown) => onChange({ ...settings, [name]: value });
  return (
    <>
      <label>
        Model
        <input
          value={String(settings.model_alias ?? '')}
          list={models}
          required={models !== undefined}
          onChange={(event) => set('model_alias', event.target.value)}
        />
      </label>
      {[temperature, maxTokens].map((field) => (
        <SettingInput key={field.name} field={field} value={settings[field.name]} onChange={(value) => set(field.name, value)} />
      ))}
      <MoreSettings settings={settings} onChange={set} />
    </>
  );
}
