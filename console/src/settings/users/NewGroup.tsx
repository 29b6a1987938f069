import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import type { Group } from '../../data/accounts.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { Field } from '../../parts/Field.tsx';
import { fieldProblems } from '../../parts/fieldProblems.ts';
import { useDraft } from '../../parts/useDraft.ts';
import styles from '../Settings.module.css';

interface Draft {
  name: string;
  description: string;
  visibility: Group['visibility'];
}

const nothing: Draft = { name: '', description: '', visibility: 'public' };
const visibilities = ['public', 'protected', 'private', 'hidden'] as const satisfies readonly Group['visibility'][];

/** Makes a group of users. */
export function NewGroup({ onMake }: { onMake(group: Draft): Promise<void> }) {
  const [draft, setDraft] = useDraft<Draft>('group');
  const group = draft ?? nothing;
  const making = useMutation({ mutationFn: () => onMake(group), onSuccess: () => setDraft(undefined) });
  const problems = fieldProblems(making.error, ['name', 'description', 'visibility']);
  const send = (event: FormEvent) => {
    event.preventDefault();
    making.mutate();
  };
  return (
    <section className={styles.part} aria-label="New group">
      <h2>New group</h2>
      <form className={styles.form} onSubmit={send}>
        <div className={styles.two}>
          <Field label="Name" problem={problems.of('name')}>
            {(of) => (
              <input {...of} required value={group.name} onChange={({ target }) => setDraft({ ...group, name: target.value })} />
            )}
          </Field>
          <Field label="Description" problem={problems.of('description')}>
            {(of) => (
              <input
                {...of}
                value={group.description}
                onChange={({ target }) => setDraft({ ...group, description: target.value })}
              />
            )}
          </Field>
          <Field
            label="Visibility"
            hint="A hidden group is listed for its members and administrators."
            problem={problems.of('visibility')}
          >
            {(of) => (
              <select
                {...of}
                value={group.visibility}
                onChange={({ target }) => setDraft({ ...group, visibility: target.value as Group['visibility'] })}
              >
                {visibilities.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            )}
          </Field>
        </div>
        {problems.rest !== undefined && <ErrorNote error={problems.rest} />}
        <div className={styles.buttons}>
          <button type="submit" className="primary" disabled={making.isPending}>
            Make the group
          </button>
        </div>
      </form>
    </section>
  );
}
