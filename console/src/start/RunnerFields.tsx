import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId, useMemo } from 'react';
import { modelNamesQuery } from '../data/modelNames.ts';
import { promptListQuery } from '../data/prompts.ts';
import { NoModels } from '../parts/NoModels.tsx';
import { rangeOf, settingFields } from '../prompt/settingFields.ts';
import { LabelledField, TextField } from './Field.tsx';
import styles from './StartPage.module.css';
import type { RunnerChoice } from './startDraft.ts';
import { useStartForm } from './startForm.ts';
import { versionOf } from './startPlan.ts';

const LISTED = 100;

const runners: Record<RunnerChoice, string> = {
  prompt_template: 'A prompt, asked of a model',
  http: 'An address that answers each row',
  module: 'A module on the service',
  dataset_outputs: 'Nothing: the dataset has the answers',
};

/** The fields of the runner. */
export function RunnerFields() {
  const { draft, change } = useStartForm();
  return (
    <fieldset className={styles.section}>
      <legend>What runs them</legend>
      <div className={styles.pair}>
        <LabelledField label="Runner" field="runner">
          {(control) => (
            <select
              {...control}
              value={draft.runner}
              onChange={(event) => change({ runner: event.target.value as RunnerChoice })}
            >
              {Object.entries(runners).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </LabelledField>
        {draft.runner === 'http' && (
          <TextField
            label="Address"
            field="url"
            type="url"
            placeholder="https://example.com/answer"
            hint="It is posted each row as JSON and answers with its output."
          />
        )}
        {draft.runner === 'module' && (
          <TextField label="Module" field="module" hint="The name of its file, without the ending." />
        )}
      </div>
      {draft.runner === 'prompt_template' && <PromptFields />}
      {draft.runner === 'dataset_outputs' && (
        <p className="quiet">
          The column generated_output of each row is taken as the answer and scored. No model is called for it.
        </p>
      )}
    </fieldset>
  );
}

function PromptFields() {
  const { draft, change, chosen, projectId } = useStartForm();
  const { prompt } = chosen;
  const version = versionOf(prompt, draft);
  const { data: listed } = useQuery(promptListQuery({ projectId: undefined, name: '', sort: '-updated_at', limit: LISTED }));
  const { data: models } = useQuery(modelNamesQuery);
  // Made once for an answer: each letter in the form fills it anew.
  const promptOptions = useMemo(() => listed?.items.map(({ id, name }) => option(id, name)), [listed]);
  const modelOptions = useMemo(() => models?.map((name) => option(name)), [models]);
  const listId = useId();
  const prompts = listed?.items ?? [];
  const set = (name: string, value: string) => change({ settings: { ...draft.settings, [name]: value } });
  const noPrompt = (
    <>
      There is no prompt yet: write one in the{' '}
      <Link to="/p/$projectId/playground" params={{ projectId }} search={{}}>
        playground
      </Link>{' '}
      or under{' '}
      <Link to="/p/$projectId/prompts" params={{ projectId }} search={{}}>
        Prompts
      </Link>
      .
    </>
  );
  const ofVersion = (name: string): string => String(version?.settings[name] ?? '');
  return (
    <>
      <NoModels />
      <div className={styles.pair}>
        <LabelledField
          label="Prompt"
          field="prompt"
          hint={
            listed?.hasMore
              ? `The ${LISTED} changed last. Of any other, open its page and run it from there.`
              : listed && prompts.length === 0
                ? noPrompt
                : undefined
          }
        >
          {(control) => (
            <select
              {...control}
              value={draft.prompt}
              onChange={(event) => change({ prompt: event.target.value, promptVersion: '' })}
            >
              <option value="">Choose a prompt</option>
              {draft.prompt !== '' && !prompts.some(({ id }) => id === draft.prompt) && (
                <option value={draft.prompt}>{prompt?.name ?? 'a prompt that is not there'}</option>
              )}
              {promptOptions}
            </select>
          )}
        </LabelledField>
        {prompt && (
          <LabelledField label="Version of the prompt" field="promptVersion">
            {(control) => (
              <select
                {...control}
                value={draft.promptVersion}
                onChange={(event) => change({ promptVersion: event.target.value })}
              >
                <option value="">The selected one, {prompt.selected_version.version}</option>
                {prompt.all_versions
                  .toSorted((a, b) => b.version - a.version)
                  .map((one) => (
                    <option key={one.id} value={one.version}>
                      Version {one.version}
                    </option>
                  ))}
              </select>
            )}
          </LabelledField>
        )}
        <LabelledField label="Model" field="model">
          {(control) => (
            <input
              {...control}
              list={listId}
              autoComplete="off"
              placeholder={ofVersion('model_alias')}
              value={draft.settings.model_alias ?? ''}
              onChange={(event) => set('model_alias', event.target.value)}
            />
          )}
        </LabelledField>
        <datalist id={listId}>{modelOptions}</datalist>
      </div>
      <details className={styles.more}>
        <summary>Settings of the model</summary>
        <p className="quiet">What is left empty is as the version of the prompt has it.</p>
        <div className={styles.pair}>
          {settingFields.map((field) => (
            <div key={field.name} className={styles.field}>
              <label>
                {field.label}
                <input
                  {...rangeOf(field)}
                  placeholder={ofVersion(field.name)}
                  value={draft.settings[field.name] ?? ''}
                  onChange={(event) => set(field.name, event.target.value)}
                />
              </label>
            </div>
          ))}
        </div>
      </details>
    </>
  );
}

const option = (value: string, label?: string) => (
  <option key={value} value={value}>
    {label}
  </option>
);
