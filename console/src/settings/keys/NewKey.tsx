import { useMutation, useQuery } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { createKey } from '../../data/accounts.ts';
import { type Role, rolesQuery } from '../../data/collaborators.ts';
import { projectsQuery } from '../../data/projects.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { Field } from '../../parts/Field.tsx';
import { fieldProblems } from '../../parts/fieldProblems.ts';
import { useDraft } from '../../parts/useDraft.ts';
import styles from '../Settings.module.css';
import { ShownOnce } from '../ShownOnce.tsx';

interface Draft {
  description: string;
  project: string;
  role: string;
  /** A day, `2026-11-30`; empty: it does not end. */
  ends: string;
}

/** Chosen in place of a role, for a key that only logs. */
const ONLY_LOGS = 'ingest only';

const nothing: Draft = { description: '', project: '', role: 'editor', ends: '' };

/** Makes a key, and shows it this once. */
export function NewKey() {
  const [draft, setDraft] = useDraft<Draft>('api key');
  const key = draft ?? nothing;
  const { data: projects } = useQuery(projectsQuery(''));
  const { data: roles = [] } = useQuery(rolesQuery);
  const making = useMutation({
    mutationFn: () =>
      createKey({
        description: key.description.trim(),
        expires_at: key.ends === '' ? null : `${key.ends}T23:59:59Z`,
        project_id: key.project || null,
        project_role: key.project === '' || key.role === ONLY_LOGS ? null : (key.role as Role),
        ingest_only: key.project !== '' && key.role === ONLY_LOGS,
      }),
    onSuccess: () => setDraft(undefined),
    gcTime: 0,
  });
  const problems = fieldProblems(making.error, ['description', 'project_id', 'project_role', 'expires_at']);
  const set = (change: Partial<Draft>) => setDraft({ ...key, ...change });
  const send = (event: FormEvent) => {
    event.preventDefault();
    making.mutate();
  };
  return (
    <section className={styles.part} aria-label="New key">
      <h2>New key</h2>
      {making.data ? (
        <ShownOnce
          label="The new key"
          secret={making.data.api_key}
          note="it is shown this once. Keep it in a safe place, such as the variable SERVICE_API_KEY."
          onClose={() => making.reset()}
        />
      ) : (
        <form className={styles.form} onSubmit={send}>
          <Field label="What it is for" problem={problems.of('description')}>
            {(of) => (
              <input
                {...of}
                required
                maxLength={1_000}
                value={key.description}
                onChange={({ target }) => set({ description: target.value })}
              />
            )}
          </Field>
          <div className={styles.two}>
            <Field label="Reaches" problem={problems.of('project_id')}>
              {(of) => (
                <select {...of} value={key.project} onChange={({ target }) => set({ project: target.value })}>
                  <option value="">all that you may</option>
                  {projects?.projects.map(({ id, name }) => (
                    <option key={id} value={id}>
                      {name}
                    </option>
                  ))}
                </select>
              )}
            </Field>
            {key.project !== '' && (
              <Field
                label="Role there"
                hint={
                  key.role === ONLY_LOGS
                    ? 'Logs records, and finds or makes the log streams that they go to. It reads no record and starts nothing.'
                    : roles.find(({ name }) => name === key.role)?.description
                }
                problem={problems.of('project_role')}
              >
                {(of) => (
                  <select {...of} value={key.role} onChange={({ target }) => set({ role: target.value })}>
                    {roles.map(({ name, display_name }) => (
                      <option key={name} value={name}>
                        {display_name}
                      </option>
                    ))}
                    <option value={ONLY_LOGS}>Only log</option>
                  </select>
                )}
              </Field>
            )}
            <Field label="Last day" hint="In UTC. Without one it does not end." problem={problems.of('expires_at')}>
              {(of) => <input {...of} type="date" value={key.ends} onChange={({ target }) => set({ ends: target.value })} />}
            </Field>
          </div>
          {problems.rest !== undefined && <ErrorNote error={problems.rest} />}
          <div className={styles.buttons}>
            <button type="submit" className="primary" disabled={making.isPending}>
              Make the key
            </button>
          </div>
        </form>
      )}
    </section>
  );
}
