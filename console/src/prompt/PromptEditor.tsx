import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { addVersion, type NewVersion, type Prompt } from '../data/prompts.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { say } from '../parts/notice.ts';
import { MessagesEditor } from './MessagesEditor.tsx';
import styles from './Prompt.module.css';
import { templateOf, type WrittenMessage } from './promptText.ts';
import { SettingsFields } from './SettingsFields.tsx';
import { Variables } from './Variables.tsx';

/** A version that is being written: kept in the tab until it is saved. */
export interface VersionDraft {
  /** The version that it was made of. */
  base: number;
  /** The last version when it was begun. */
  newest: number;
  messages: WrittenMessage[];
  settings: Record<string, unknown>;
  isSelected: boolean;
}

interface Props {
  prompt: Prompt;
  draft: VersionDraft;
  onDraft(draft: VersionDraft | undefined): void;
  onSaved(): void;
}

/** Writes the next version of a prompt. */
export function PromptEditor({ prompt, draft, onDraft, onSaved }: Props) {
  const { messages, settings } = draft;
  const saving = useMutation({
    mutationFn: () => {
      const version = { template: templateOf(messages), settings } as NewVersion;
      return addVersion(prompt.id, version, draft.isSelected);
    },
    onSuccess(version) {
      say(`Saved as version ${version}`);
      onSaved();
    },
  });
  const set = (changed: Partial<VersionDraft>) => onDraft({ ...draft, ...changed });
  const send = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <form className={styles.editor} onSubmit={send}>
      <div className={styles.bar}>
        <h2>
          New version <span className="quiet">made of version {draft.base}</span>
        </h2>
        <button type="button" onClick={() => onDraft(undefined)}>
          Discard
        </button>
        <button type="submit" className="primary" disabled={saving.isPending || messages.length === 0}>
          {saving.isPending ? 'Saving …' : `Save as version ${prompt.max_version + 1}`}
        </button>
      </div>
      {prompt.max_version > draft.newest && (
        <p role="alert">
          Somebody has added version {prompt.max_version} since you began. Yours becomes the one after it; theirs stays as it is.
        </p>
      )}
      {saving.error && <ErrorNote error={saving.error} />}
      <Variables texts={messages.map(({ text }) => text)} />
      <MessagesEditor messages={messages} onChange={(changed) => set({ messages: changed })} />
      <div className={styles.fields}>
        <SettingsFields settings={settings} onChange={(changed) => set({ settings: changed })} />
        <label className={styles.check}>
          <input type="checkbox" checked={draft.isSelected} onChange={(event) => set({ isSelected: event.target.checked })} />
          Select it: experiments take it from then on
        </label>
      </div>
    </form>
  );
}
