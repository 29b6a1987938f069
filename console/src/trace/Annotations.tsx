import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { mayDo, queueQuery } from '../data/annotations.ts';
import type { RecordNode } from '../data/records.ts';
import { useKeys } from '../parts/useKeys.ts';
import styles from './Annotations.module.css';
import { Question } from './Question.tsx';

interface Props {
  record: RecordNode;
  projectId: string;
}

/** The questions of the queues that a record is in, with the answers of the person. `r` leads to the first that is open. */
export function Annotations({ record, projectId }: Props) {
  const section = useRef<HTMLElement>(null);
  const queues = (record.annotation_queue_ids ?? []) as string[];
  useKeys({ r: () => section.current?.querySelector<HTMLElement>('[data-open] :is(input, select, textarea)')?.focus() });
  if (queues.length === 0) return null;
  return (
    <section ref={section} aria-label="Annotations">
      <h3>
        Annotations <kbd>r</kbd>
      </h3>
      {queues.map((id) => (
        <QueueQuestions key={id} queueId={id} record={record} projectId={projectId} />
      ))}
    </section>
  );
}

function QueueQuestions({ queueId, record, projectId }: { queueId: string; record: RecordNode; projectId: string }) {
  const { data: queue } = useQuery(queueQuery(queueId));
  if (!queue) return null; // another's queue: its questions are none of this person's
  return (
    <div className={styles.questions}>
      <p className="quiet">{queue.name}</p>
      {queue.templates.length === 0 && <p className="quiet">This queue has no questions yet.</p>}
      {queue.templates.map((template) => (
        <Question
          key={template.id}
          {...{ queue, template, record }}
          changes={[['record', projectId]]}
          isOff={!mayDo(queue, 'record_annotation')}
        />
      ))}
    </div>
  );
}
