import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { queueTabs } from '../address/queueAddress.ts';
import { mayDo, queueQuery } from '../data/annotations.ts';
import { deleteQueueLater } from '../data/deletions.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { ShareBar } from '../parts/ShareBar.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { PeopleTab } from './PeopleTab.tsx';
import { QuestionsTab } from './QuestionsTab.tsx';
import styles from './QueuePage.module.css';
import { RateTab } from './RateTab.tsx';
import { ResultsTab } from './ResultsTab.tsx';

const ROUTE = '/signed in/queues/$queueId';

/** A queue: its records one at a time, what people answered, its questions and its people. */
export function QueuePage() {
  const { queueId } = useParams({ from: ROUTE });
  const { tab = 'rate' } = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: '/queues/$queueId' });
  const { data: queue, error, refetch } = useQuery(queueQuery(queueId));
  useTitle(queue?.name, 'Queues');
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!queue) return <LoadingNote what="the queue" />;
  const remove = () => {
    deleteQueueLater(queue);
    void navigate({ to: '/queues', search: {} });
  };
  return (
    <div className={styles.page}>
      <div className={styles.head}>
        <h1>{queue.name}</h1>
        <ShareBar label="Records that are fully rated" share={queue.overall_progress} />
        {mayDo(queue, 'delete') && (
          <button type="button" onClick={remove}>
            Delete
          </button>
        )}
      </div>
      <Tabs
        label="What the queue shows"
        tabs={queueTabs}
        chosen={tab}
        onChoose={(next) =>
          void navigate({ search: (now) => ({ ...now, tab: next === 'rate' ? undefined : next }), replace: true })
        }
      >
        {tab === 'rate' && <RateTab queue={queue} />}
        {tab === 'results' && <ResultsTab queue={queue} />}
        {tab === 'questions' && <QuestionsTab queue={queue} />}
        {tab === 'people' && <PeopleTab queue={queue} />}
      </Tabs>
    </div>
  );
}
