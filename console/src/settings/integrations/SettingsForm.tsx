import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type IntegrationRow, type Provider, type ProviderSettings, saveIntegration } from '../../data/integrations.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { Field } from '../../parts/Field.tsx';
import { fieldProblems } from '../../parts/fieldProblems.ts';
import { useDraft } from '../../parts/useDraft.ts';
import styles from '../Settings.module.css';
import { type ModelRow, ModelRows, modelsFrom } from './ModelRows.tsx';
import { ProviderField } from './ProviderField.tsx';
import { fieldsOf, settingsFrom, type Values, valuesOf } from './providerFields.ts';

interface Props {
  provider: Provider;
  /** Undefined for a new one. */
  stored: { name: string; settings: ProviderSettings } | undefined;
  /** Slugs that are taken: to save under one of them would replace it. */
  taken: readonly string[];
  onSaved(saved: IntegrationRow): void;
}

interface Draft {
  name?: string;
  values?: Values;
  models?: ModelRow[];
}

/** How a provider is reached. Secrets are typed anew, are never shown and never kept by the browser. */
export function SettingsForm({ provider, stored, taken, onSaved }: Props) {
  const [draft, setDraft] = useDraft<Draft>(`integration ${provider} ${stored?.name ?? 'new'}`);
  const [secrets, setSecrets] = useState<Values>({});
  const values = { ...valuesOf(provider, stored?.settings), ...draft?.values };
  const models = draft?.models ?? (stored?.settings.model_properties as ModelRow[] | null | undefined) ?? [];
  const name = stored?.name ?? draft?.name ?? '';
  const isTaken = stored === undefined && taken.includes(name.trim());
  const isCustom = provider === 'custom';
  const saving = useMutation({
    mutationFn: () => {
      const body = settingsFrom(provider, values, secrets, stored?.settings);
      return saveIntegration(provider, name.trim(), isCustom ? { ...body, model_properties: modelsFrom(models) } : body);
    },
    onSuccess(saved) {
      setDraft(undefined);
      setSecrets({});
      onSaved(saved);
    },
  });
  const fields = fieldsOf(provider, values);
  const problems = fieldProblems(saving.error, [...fields.map(({ path }) => path), 'name', 'model_properties']);
  const set = (path: string, text: string, isSecret: boolean) => {
    if (isSecret) setSecrets({ ...secrets, [path]: text });
    else setDraft({ ...draft, values: { ...draft?.values, [path]: text } });
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!isTaken) saving.mutate();
  };
  const control = (field: (typeof fields)[number]) => (
    <ProviderField
      key={field.path}
      field={field}
      value={(field.isSecret ? secrets : values)[field.path] ?? ''}
      problem={problems.of(field.path)}
      onChange={(text) => set(field.path, text, field.isSecret === true)}
    />
  );
  const seldom = fields.filter(({ isMore }) => isMore);
  return (
    <form className={styles.form} onSubmit={send} aria-label="How it is reached" autoComplete="off">
      {isCustom && stored === undefined && (
        <Field
          label="Name"
          hint="Run settings name it so: letters, digits, dots, dashes and underscores."
          problem={isTaken ? 'There is an integration with this name: open it to change it.' : problems.of('name')}
        >
          {(of) => (
            <input
              {...of}
              required
              maxLength={100}
              value={name}
              onChange={({ target }) => setDraft({ ...draft, name: target.value })}
            />
          )}
        </Field>
      )}
      {fields.filter(({ isMore }) => !isMore).map(control)}
      {isCustom && <ModelRows rows={models} onChange={(rows) => setDraft({ ...draft, models: rows })} />}
      {problems.of('model_properties') && (
        <p role="alert" className="bad">
          {problems.of('model_properties')}
        </p>
      )}
      {seldom.length > 0 && (
        <details open={seldom.some(({ path }) => problems.of(path) !== undefined) || undefined}>
          <summary>More</summary>
          <div className={`${styles.two} ${styles.more}`}>{seldom.map(control)}</div>
        </details>
      )}
      {problems.rest !== undefined && <ErrorNote error={problems.rest} />}
      <div className={styles.buttons}>
        <button type="submit" className="primary" disabled={saving.isPending}>
          {stored ? 'Save' : 'Connect'}
        </button>
        {draft && (
          <button type="button" onClick={() => setDraft(undefined)}>
            Take changes back
          </button>
        )}
      </div>
    </form>
  );
}
