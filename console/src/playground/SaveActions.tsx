import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { may } from '../data/assets.ts';
import { useMay } from '../data/permissions.ts';
import {
  addVersion,
  createPrompt,
  type NewVersion,
  type Prompt,
  type PromptVersion,
  promptsByNameQuery,
} from '../data/prompts.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { say } from '../parts/notice.ts';
import { PickDialog } from '../parts/PickDialog.tsx';
import { templateOf } from '../prompt/promptText.ts';
import { isChanged, type PlaygroundDraft } from './draft.ts';
import { columnName } from './ModelColumn.tsx';
import styles from './Playground.module.css';

interface Props {
  projectId: string;
  draft: PlaygroundDraft;
  prompt: Prompt | undefined;
  /** The version that the messages are of. */
  base: PromptVersion | undefined;
  /** The dataset that its variables are filled in from. */
  datasetId: string | undefined;
  onSaved(promptId: string, version: number): Promise<void>;
}

/** Keeps what is tried as a version of a prompt, and runs it on a dataset. */
export function SaveActions({ projectId, draft, prompt, base, datasetId, onSaved }: Props) {
  const { columns } = draft;
  const [chosenId, setChosen] = useState<string>();
  const chosen = columns.find(({ id }) => id === chosenId) ?? columns[0];
  const settings = chosen?.settings ?? {};
  const [isPicking, setPicking] = useState(false);
  const mayMake = useMay(projectId, 'update');
  const mayRun = useMay(projectId, 'create_run');
  const mayAdd = prompt !== undefined && may(prompt, 'update');
  const isNew = base === undefined || isChanged(draft, settings, base);
  const navigate = useNavigate();
  const written = () => ({ template: templateOf(draft.messages), settings }) as NewVersion;
  const add = async (promptId: string): Promise<number> => {
    const added = await addVersion(promptId, written(), false);
    say(`Saved as version ${added}`);
    return added;
  };
  const saving = useMutation({ mutationFn: async (promptId: string) => onSaved(promptId, await add(promptId)) });
  const running = useMutation({
    mutationFn: async (promptId: string) => {
      const version = isNew ? await add(promptId) : base.version;
      const search = { prompt: promptId, version, ...(datasetId === undefined ? {} : { dataset: datasetId }) };
      await navigate({ to: '/p/$projectId/experiments/new', params: { projectId }, search });
    },
  });
  const made = useRef<string>(undefined);
  const create = async (name: string) => {
    made.current = await createPrompt(name, written(), projectId);
    say(`Saved as the prompt ${name}`);
    await onSaved(made.current, 1);
    return made.current;
  };
  const problem = saving.error ?? running.error;
  const isBusy = saving.isPending || running.isPending;
  return (
    <>
      {(mayAdd || mayMake) && columns.length > 1 && (
        <label className={styles.inline}>
          Save with
          <select value={chosen?.id} onChange={(event) => setChosen(event.target.value)}>
            {columns.map((column, index) => (
              <option key={column.id} value={column.id}>
                {columnName(column, index)}
              </option>
            ))}
          </select>
        </label>
      )}
      {prompt && mayAdd && isNew && (
        <button type="button" disabled={isBusy} onClick={() => saving.mutate(prompt.id)}>
          Save as version {prompt.max_version + 1}
        </button>
      )}
      {mayMake && (
        <button type="button" disabled={isBusy} onClick={() => setPicking(true)}>
          {prompt ? 'Save elsewhere' : 'Save as a prompt'}
        </button>
      )}
      {prompt && mayRun && (mayAdd || !isNew) && (
        <button type="button" disabled={isBusy} onClick={() => running.mutate(prompt.id)}>
          {isNew ? 'Save and run on a dataset' : 'Run on a dataset'}
        </button>
      )}
      {problem && <ErrorNote error={problem} />}
      {isPicking && (
        <PickDialog
          title="Save as a prompt"
          query={promptsByNameQuery}
          create={create}
          onPick={async (id) => (id === made.current ? undefined : saving.mutateAsync(id))}
          detail={(one) => `as version ${one.max_version + 1}`}
          onClose={() => setPicking(false)}
        />
      )}
    </>
  );
}
