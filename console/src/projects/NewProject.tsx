import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef } from 'react';
import { createProject } from '../data/projects.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import styles from './ProjectsPage.module.css';

/** A button, and the dialog that asks for the name. */
export function NewProject() {
  const dialog = useRef<HTMLDialogElement>(null);
  const navigate = useNavigate();
  const cached = useQueryClient();
  const making = useMutation({
    mutationFn: createProject,
    async onSuccess({ id }) {
      await cached.invalidateQueries({ queryKey: ['projects'] });
      await navigate({ to: '/p/$projectId/records', params: { projectId: id }, search: {} });
    },
  });
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    making.mutate(String(new FormData(event.currentTarget).get('name')).trim());
  };
  return (
    <>
      <button type="button" className="primary" onClick={() => dialog.current?.showModal()}>
        New project
      </button>
      <dialog ref={dialog} aria-labelledby="new-project">
        <form className={styles.form} onSubmit={send}>
          <h2 id="new-project">New project</h2>
          <label>
            Name
            <input name="name" required maxLength={1_000} />
          </label>
          {making.error && <ErrorNote error={making.error} />}
          <div className={styles.buttons}>
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="submit" className="primary" disabled={making.isPending}>
              Make it
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
