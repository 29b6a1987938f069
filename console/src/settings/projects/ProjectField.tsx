import { useQuery } from '@tanstack/react-query';
import { projectsQuery } from '../../data/projects.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { Field } from '../../parts/Field.tsx';
import { LoadingNote } from '../../parts/notes.tsx';
import styles from '../Settings.module.css';

/** Chooses the project whose settings are shown. */
export function ProjectField({ project, onChoose }: { project: string | undefined; onChoose(projectId: string): void }) {
  const { data, error } = useQuery(projectsQuery(''));
  if (error) return <ErrorNote error={error} />;
  if (!data) return <LoadingNote what="projects" />;
  return (
    <div className={styles.form}>
      <Field label="Project" hint={data.hasMore ? 'The thousand that changed last are listed.' : undefined}>
        {(of) => (
          <select
            {...of}
            value={data.projects.some(({ id }) => id === project) ? project : ''}
            onChange={({ target }) => onChoose(target.value)}
          >
            <option value="" disabled>
              {data.projects.length === 0 ? 'There is none that you see' : 'Choose one'}
            </option>
            {data.projects.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
    </div>
  );
}
