import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useId, useRef } from 'react';
import { changeExperiment, type Experiment, tagsOf } from '../data/experiments.ts';
import { useMay } from '../data/permissions.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { Icon } from '../parts/Icon.tsx';
import { say } from '../parts/notice.ts';
import { useDraft } from '../parts/useDraft.ts';
import styles from './EditExperiment.module.css';

interface Fields {
  name: string;
  groupName: string;
  tags: { id: string; key: string; value: string }[];
}

const fieldsOf = (experiment: Experiment): Fields => ({
  name: experiment.name,
  groupName: experiment.experiment_group_name,
  tags: tagsOf(experiment).map(({ id, key, value }) => ({ id, key, value })),
});

/** A dialog that opens at once, with the name, group and tags of an experiment. What was typed stays until it is saved or cancelled. */
export function EditExperiment({ experiment, onClose }: { experiment: Experiment; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const headingId = useId();
  const mayEdit = useMay(experiment.project_id, 'rename_run');
  const [typed, setTyped] = useDraft<Fields>(`name and tags of ${experiment.id}`);
  const fields = typed ?? fieldsOf(experiment);
  const { name, groupName, tags } = fields;
  const set = (changed: Partial<Fields>) => setTyped({ ...fields, ...changed });
  const end = () => {
    setTyped(undefined);
    dialog.current?.close();
  };
  const saving = useMutation({
    mutationFn: () =>
      changeExperiment(experiment, {
        ...{ name: name.trim(), groupName: groupName.trim() },
        tags: tags.filter(({ key }) => key.trim() !== '').map(({ key, value }) => ({ key: key.trim(), value: value.trim() })),
      }),
    onSuccess: () => {
      say(`“${name.trim()}” is saved.`);
      end();
    },
  });
  const setTag = (id: string, changed: { key?: string; value?: string }) =>
    set({ tags: tags.map((tag) => (tag.id === id ? { ...tag, ...changed } : tag)) });
  const send = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <dialog ref={dialog} aria-labelledby={headingId} closedby="any" onClose={onClose}>
      <form className={styles.form} onSubmit={send}>
        <h2 id={headingId}>Name and tags</h2>
        <label>
          Name
          <input
            value={name}
            required
            maxLength={1_000}
            disabled={!mayEdit}
            onChange={(event) => set({ name: event.target.value })}
          />
        </label>
        <label>
          Group
          <input
            value={groupName}
            required
            maxLength={255}
            disabled={!mayEdit}
            onChange={(event) => set({ groupName: event.target.value })}
          />
        </label>
        <fieldset className={styles.tags} disabled={!mayEdit}>
          <legend>Tags</legend>
          {tags.map(({ id, key, value }, index) => (
            <div key={id} className={styles.tag}>
              <input
                aria-label={`Key of tag ${index + 1}`}
                placeholder="key"
                value={key}
                onChange={(event) => setTag(id, { key: event.target.value })}
              />
              <input
                aria-label={`Value of tag ${index + 1}`}
                placeholder="value"
                required={key.trim() !== ''}
                value={value}
                onChange={(event) => setTag(id, { value: event.target.value })}
              />
              <button
                type="button"
                className="plain iconed"
                aria-label={`Remove tag ${key || index + 1}`}
                onClick={() => set({ tags: tags.filter((tag) => tag.id !== id) })}
              >
                <Icon name="close" />
              </button>
            </div>
          ))}
          <button type="button" onClick={() => set({ tags: [...tags, { id: crypto.randomUUID(), key: '', value: '' }] })}>
            Add a tag
          </button>
        </fieldset>
        {saving.error && <ErrorNote error={saving.error} />}
        <div className={styles.buttons}>
          {mayEdit && (
            <button type="submit" className="primary" disabled={saving.isPending}>
              Save
            </button>
          )}
          <button type="button" onClick={end}>
            {mayEdit ? 'Cancel' : 'Close'}
          </button>
        </div>
      </form>
    </dialog>
  );
}
