import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useRef } from 'react';
import { mayDo, type Queue, queueRecordQuery } from '../data/annotations.ts';
import { currentUserQuery } from '../data/projects.ts';
import type { RecordNode } from '../data/records.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText, lineText } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import { EmptyNote, LoadingNote } from '../parts/notes.tsx';
import { useKeys } from '../parts/useKeys.ts';
import { Question } from '../trace/Question.tsx';
import { Failure, RecordContent } from '../trace/RecordContent.tsx';
import { RecordFacts } from '../trace/RecordFacts.tsx';
import styles from './QueuePage.module.css';
import { useQueueRecords } from './useQueueRecords.ts';

/** One record at a time beside the questions about it. Digits and Enter are enough: an answer leads to the next question, the last to the next record. */
export function RateTab({ queue }: { queue: Queue }) {
  const records = useQueueRecords(queue);
  const { current } = records;
  useKeys({ j: records.next, s: records.next, k: records.previous });
  if (records.error) return <ErrorNote error={records.error} />;
  if (queue.num_log_records === 0) return <NoRecords />;
  if (queue.templates.length === 0) return <NoQuestions />;
  if (current === undefined && records.isLoading) return <LoadingNote what="the records" />;
  if (current === undefined) return <AtTheEnd queue={queue} records={records} />;
  return <OneRecord key={current} id={current} queue={queue} records={records} />;
}

interface RecordProps {
  id: string;
  queue: Queue;
  records: ReturnType<typeof useQueueRecords>;
}

function OneRecord({ id, queue, records }: RecordProps) {
  const { data: record, error, refetch } = useQuery(queueRecordQuery(queue.id, id));
  return (
    <div className={styles.rate}>
      <article className={styles.record} aria-label="Record">
        {error ? (
          <ErrorNote error={error} onRetry={() => void refetch()} />
        ) : record ? (
          <>
            <div className={styles.title}>
              <KindMark kind={record.type} />
              <h2>{lineText(record.name || record.type, 500)}</h2>
              <TraceLink record={record} />
            </div>
            <RecordFacts record={record} />
            <Failure record={record} />
            <RecordContent record={record} isText={false} />
          </>
        ) : (
          <LoadingNote what="the record" />
        )}
      </article>
      <Questions queue={queue} record={record} records={records} />
    </div>
  );
}

function TraceLink({ record: { project_id, trace_id, id, type } }: { record: RecordNode }) {
  const traceId = type === 'trace' ? id : trace_id;
  if (typeof project_id !== 'string' || typeof traceId !== 'string') return null;
  return (
    <Link
      to="/p/$projectId/traces/$traceId"
      params={{ projectId: project_id, traceId }}
      search={type === 'trace' ? {} : { span: id }}
    >
      Open the trace
    </Link>
  );
}

const CONTROL = 'input, select, textarea';

function Questions({
  queue,
  record,
  records,
}: {
  queue: Queue;
  record: RecordNode | undefined;
  records: RecordProps['records'];
}) {
  const section = useRef<HTMLElement>(null);
  const { data: user } = useQuery(currentUserQuery);
  const isThere = record !== undefined && user !== undefined;
  useEffect(() => {
    if (isThere)
      (section.current?.querySelector<HTMLElement>(`[data-open] :is(${CONTROL})`) ?? nextButton(section.current))?.focus();
  }, [isThere]);
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const control = event.target as HTMLInputElement;
    const isDigit = control.type === 'radio' && /^[1-9]$/.test(event.key) && event.defaultPrevented;
    if (!isDigit && (event.key !== 'Enter' || !control.matches(CONTROL))) return;
    if (!control.reportValidity()) return;
    event.preventDefault();
    const following = control.closest('fieldset')?.nextElementSibling;
    const to = following?.matches('fieldset') ? following.querySelector<HTMLElement>(CONTROL) : nextButton(section.current);
    to?.focus();
  };
  const { place, total, isAll } = records;
  return (
    <section ref={section} aria-label="Questions" className={styles.questions} onKeyDown={onKeyDown}>
      {record &&
        user &&
        queue.templates.map((template) => (
          <Question
            key={template.id}
            {...{ queue, template, record }}
            changes={[
              ['queue record', queue.id, record.id],
              ['queue', queue.id],
            ]}
            isOff={!mayDo(queue, 'record_annotation')}
          />
        ))}
      {!mayDo(queue, 'record_annotation') && <p className="quiet">You may read this queue, not rate in it.</p>}
      <div className={styles.moves}>
        <button type="button" onClick={records.previous} disabled={place === 1}>
          Back <kbd>k</kbd>
        </button>
        <button type="button" className="primary" data-next onClick={records.next}>
          Next <kbd>j</kbd>
        </button>
        <span>{place !== undefined && `${countText(place)}${total === undefined ? '' : ` of ${countText(total)}`}`}</span>
      </div>
      <label className={styles.moves}>
        <input type="checkbox" checked={isAll} onChange={(event) => records.showAll(event.target.checked)} />
        Those that you have rated, too
      </label>
    </section>
  );
}

const nextButton = (section: HTMLElement | null) => section?.querySelector<HTMLElement>('[data-next]');

function AtTheEnd({ queue, records }: { queue: Queue; records: RecordProps['records'] }) {
  const { data: user } = useQuery(currentUserQuery);
  const rated = user && queue.num_logs_annotated?.[user.id];
  return (
    <EmptyNote title="That was the last one">
      {rated !== undefined && (
        <p>
          You have rated {countText(rated)} of {countText(queue.num_log_records)} records.
        </p>
      )}
      <p>
        <button type="button" className="primary" onClick={() => void records.again()}>
          Those that are left
        </button>{' '}
        {!records.isAll && (
          <button type="button" onClick={() => records.showAll(true)}>
            All records
          </button>
        )}
      </p>
    </EmptyNote>
  );
}

const NoRecords = () => (
  <EmptyNote title="No record yet">
    <p>
      Choose records of a project (<kbd>x</kbd>, or all that fit a filter) and press <kbd>a</kbd> <kbd>q</kbd> to put them here.
    </p>
  </EmptyNote>
);

const NoQuestions = () => (
  <EmptyNote title="No question yet">
    <p>Add one under Questions: a thumb, stars, a score, tags, a choice or a text.</p>
  </EmptyNote>
);
