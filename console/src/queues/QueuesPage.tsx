import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { createQueue, type Queue, queuesQuery } from '../data/annotations.ts';
import { useGoing } from '../data/deletions.ts';
import { currentUserQuery } from '../data/projects.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import styles from '../parts/ListPage.module.css';
import { NewNamed } from '../parts/NewNamed.tsx';
import { EmptyNote, LoadingNote } from '../parts/notes.tsx';
import { ShareBar } from '../parts/ShareBar.tsx';
import { Time } from '../parts/Time.tsx';
import { useTitle } from '../parts/useTitle.ts';

/** The service lists so many queues at once. */
const SHOWN = 100;

/** The annotation queues that the account sees, and how far each is. */
export function QueuesPage() {
  useTitle('Annotation queues');
  const [name, setName] = useState('');
  const { data, error, refetch } = useQuery(queuesQuery(useDeferredValue(name)));
  const { data: user } = useQuery(currentUserQuery);
  const navigate = useNavigate();
  const hidden = useGoing();
  const queues = (data ?? []).filter(({ id }) => !hidden.has(id));
  const make = async (called: string) => {
    const queueId = await createQueue(called);
    await navigate({ to: '/queues/$queueId', params: { queueId }, search: { tab: 'questions' } });
  };
  return (
    <div className={styles.page}>
      <div className={styles.head}>
        <h1>Annotation queues</h1>
        <input
          type="search"
          aria-label="Find a queue"
          placeholder="Find by name"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <NewNamed title="New queue" onName={make} />
      </div>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="queues" />}
      {data && queues.length === 0 && (
        <EmptyNote title={name === '' ? 'No queue yet' : `No queue is called like “${name}”`}>
          <p>
            A queue holds records that people rate, one at a time. Make one, then choose records of a project and press{' '}
            <kbd>a</kbd> <kbd>q</kbd> to put them there.
          </p>
        </EmptyNote>
      )}
      {queues.length > 0 && <QueueTable queues={queues} userId={user?.id} />}
      {data && data.length >= SHOWN && <p className="quiet">There are more: type a part of the name.</p>}
    </div>
  );
}

function QueueTable({ queues, userId }: { queues: readonly Queue[]; userId: string | undefined }) {
  return (
    <table className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" className="number">
            Records
          </th>
          <th scope="col" className="number">
            Rated by you
          </th>
          <th scope="col" className={styles.wide}>
            Rated by all
          </th>
          <th scope="col" className={`number ${styles.wide}`}>
            Changed
          </th>
        </tr>
      </thead>
      <tbody>
        {queues.map(({ id, name, num_log_records, num_logs_annotated, overall_progress, updated_at }) => (
          <tr key={id}>
            <td>
              <Link to="/queues/$queueId" params={{ queueId: id }} search={{}}>
                {name}
              </Link>
            </td>
            <td className="number">{countText(num_log_records)}</td>
            <td className="number">{countText(userId === undefined ? undefined : num_logs_annotated?.[userId])}</td>
            <td className={styles.wide}>
              <ShareBar label="Fully rated" share={overall_progress} />
            </td>
            <td className={`number ${styles.wide}`}>
              <Time at={updated_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
