import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { promptPlace } from '../address/playgroundAddress.ts';
import { may } from '../data/assets.ts';
import { type Prompt, type PromptVersion, selectVersion } from '../data/prompts.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { useDraft } from '../parts/useDraft.ts';
import { LongText } from '../payload/LongText.tsx';
import styles from './Prompt.module.css';
import { PromptEditor, type VersionDraft } from './PromptEditor.tsx';
import { messagesOf } from './promptText.ts';
import { usePromptAddress } from './usePromptAddress.ts';
import { Variables } from './Variables.tsx';

/** The version of the address, else the selected one, and the new version that somebody is writing. */
export function PromptText({ prompt }: { prompt: Prompt }) {
  const { address, change } = usePromptAddress();
  const [draft, setDraft] = useDraft<VersionDraft>(`prompt ${prompt.id}`);
  const selecting = useMutation({ mutationFn: (version: number) => selectVersion(prompt.id, version) });
  const version = prompt.all_versions.find((one) => one.version === address.version) ?? prompt.selected_version;
  const isSelected = version.version === prompt.selected_version.version;
  const mayUpdate = may(prompt, 'update');
  if (draft && mayUpdate)
    return (
      <PromptEditor
        {...{ prompt, draft }}
        onDraft={setDraft}
        onSaved={() => {
          setDraft(undefined);
          change({ version: undefined });
        }}
      />
    );
  return (
    <>
      <div className={styles.bar}>
        <h2>
          Version {version.version}
          <span className="quiet"> {isSelected ? 'selected: experiments take it' : 'not selected'}</span>
        </h2>
        {mayUpdate && !isSelected && (
          <button type="button" disabled={selecting.isPending} onClick={() => selecting.mutate(version.version)}>
            Select this version
          </button>
        )}
        {address.project !== undefined && (
          <Link
            to="/p/$projectId/playground"
            params={{ projectId: address.project }}
            search={{ prompt: promptPlace(prompt.id, version.version) }}
          >
            Open in the playground
          </Link>
        )}
        {mayUpdate && (
          <button
            type="button"
            className="primary"
            onClick={() =>
              setDraft({
                base: version.version,
                newest: prompt.max_version,
                messages: messagesOf(version),
                settings: version.settings,
                isSelected: true,
              })
            }
          >
            Write a new version
          </button>
        )}
      </div>
      {selecting.error && <ErrorNote error={selecting.error} />}
      <Variables texts={messagesOf(version).map(({ text }) => text)} />
      <ol className={styles.messages}>
        {messagesOf(version).map(({ role, text }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages have no ids, and their order is theirs
          <li key={index}>
            <h3>{role}</h3>
            <LongText text={text} />
          </li>
        ))}
      </ol>
      <Settings version={version} />
    </>
  );
}

function Settings({ version }: { version: PromptVersion }) {
  const known = Object.entries(version.settings).filter(([, value]) => value !== null && value !== undefined);
  return (
    <details className={styles.settings}>
      <summary>Settings: {String(version.settings.model_alias ?? 'the usual model')}</summary>
      <dl>
        {known.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
