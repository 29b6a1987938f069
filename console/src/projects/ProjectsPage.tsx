import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useDeferredValue } from 'react';
import { projectsQuery } from '../data/projects.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import styles from '../parts/ListPage.module.css';
import { EmptyNote, LoadingNote } from '../parts/notes.tsx';
import { Time } from '../parts/Time.tsx';
import { useTextOver } from '../parts/useDraft.ts';
import { useTitle } from '../parts/useTitle.ts';
import { NewProject } from './NewProject.tsx';

/** The service lists so many runs of each project. */
const RUNS_SHOWN = 25;

/** The projects that the account sees, the last changed first. */
export function ProjectsPage() {
  useTitle('Projects');
  const [name, setName] = useTextOver('find a project', '');
  const { data, error, refetch } = useQuery(projectsQuery(useDeferredValue(name)));
  const projects = data?.projects ?? [];
  return (
    <div className={styles.page}>
      <div className={styles.head}>
        <h1>Projects</h1>
        <input
          type="search"
          aria-label="Find a project"
          placeholder="Find by name"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <NewProject />
      </div>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="projects" />}
      {data && projects.length === 0 && (
        <EmptyNote title={name === '' ? 'No project yet' : `No project is called like “${name}”`}>
          <p>
            A project holds what one application logs, and its experiments. Make one, and its page shows the lines of code that
            fill it.
          </p>
        </EmptyNote>
      )}
      {projects.length > 0 && (
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" className={styles.wide}>
                Made by
              </th>
              <th scope="col" className={`number ${styles.wide}`}>
                Runs
              </th>
              <th scope="col" className="number">
                Newest record
              </th>
            </tr>
          </thead>
          <tbody>
            {projects.map(({ id, name: called, created_by_user, runs, newest_record_at }) => (
              <tr key={id}>
                <td>
                  <Link to="/p/$projectId/records" params={{ projectId: id }} search={{}}>
                    {called}
                  </Link>
                </td>
                <td className={`quiet ${styles.wide}`}>{created_by_user.email}</td>
                <td className={`number ${styles.wide}`}>{runs.length < RUNS_SHOWN ? runs.length : `${RUNS_SHOWN} or more`}</td>
                <td className="number">
                  {newest_record_at ? <Time at={newest_record_at} /> : <span className="quiet">none</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {data?.hasMore && <p className="quiet">There are more: type a part of the name.</p>}
    </div>
  );
}
