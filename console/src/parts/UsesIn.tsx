import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { usesQuery } from '../data/assets.ts';
import { ErrorNote } from './ErrorNote.tsx';
import styles from './ListPage.module.css';
import { Time } from './Time.tsx';

interface Props {
  projectId: string;
  name: string;
  by: 'dataset_id' | 'prompt_template_id';
  id: string;
}

/** A project, and its newest experiments that use a dataset or a prompt, with the version that each used. */
export function UsesIn({ projectId, name, by, id }: Props) {
  const { data, error } = useQuery(usesQuery(projectId, by, id));
  return (
    <section className={styles.uses}>
      <h2>
        <Link to="/p/$projectId/records" params={{ projectId }} search={{}} className={styles.name}>
          {name}
        </Link>
      </h2>
      {error && <ErrorNote error={error} />}
      {data?.experiments.length === 0 && <p className="quiet">None of its experiments has used it yet.</p>}
      {data && data.experiments.length > 0 && (
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Experiment</th>
              <th scope="col" className="number">
                Version
              </th>
              <th scope="col" className="number">
                When
              </th>
            </tr>
          </thead>
          <tbody>
            {data.experiments.map((one) => (
              <tr key={one.id}>
                <td>
                  <Link to="/p/$projectId/records" params={{ projectId }} search={{ experiment: one.id }} className={styles.name}>
                    {one.name}
                  </Link>
                </td>
                <td className="number">{(by === 'dataset_id' ? one.dataset : one.prompt)?.version_index ?? '–'}</td>
                <td className="number">
                  <Time at={one.created_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {data?.paginated && <p className="quiet">There are older ones.</p>}
    </section>
  );
}
