import { useQuery } from '@tanstack/react-query';
import type { AnnotationAggregate } from '../../../shared/wire/annotationRatings.ts';
import { annotatorsQuery, type Queue, type QueueDetails, queueDetailsQuery, type Template } from '../data/annotations.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText, numberText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { ShareBar } from '../parts/ShareBar.tsx';
import { pathsOf } from '../trace/RatingField.tsx';
import styles from './QueuePage.module.css';

/** Shows the answers to each question, how far people agree, and how far each person is. */
export function ResultsTab({ queue }: { queue: Queue }) {
  const { data, error, refetch } = useQuery(queueDetailsQuery(queue.id));
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <LoadingNote what="the results" />;
  return (
    <div className={styles.settings}>
      <p>
        {countText(data.num_logs_fully_annotated)} of {countText(queue.num_log_records)} records have an answer to every question.{' '}
        <Agreement details={data} />
      </p>
      {queue.templates.map((template) => (
        <section key={template.id} aria-label={template.name}>
          <h2>{template.name}</h2>
          <Answers template={template} sum={data.annotation_aggregates?.[template.id]} records={queue.num_log_records} />
        </section>
      ))}
      <Progress queue={queue} />
    </div>
  );
}

function Agreement({ details: { overall_annotation_agreement: agreement } }: { details: QueueDetails }) {
  const compared = agreement?.buckets.reduce((sum, { count }) => sum + count, 0) ?? 0;
  if (!agreement || compared === 0) return <>No record has answers of two people, so nothing is known of their agreement.</>;
  return (
    <>
      Agreement {numberText(agreement.average_agreement)} (from 0 to 1, mean of {countText(compared)}{' '}
      {compared === 1 ? 'record' : 'records'} that two or more people rated).
    </>
  );
}

interface AnswersProps {
  template: Template;
  sum: AnnotationAggregate | undefined;
  records: number;
}

function Answers({ template, sum, records }: AnswersProps) {
  if (!sum) return <p className="quiet">No one has answered; {countText(records)} records wait.</p>;
  const counts = countsOf(sum.aggregate, template);
  const most = Math.max(1, ...counts.map(([, count]) => count));
  const { aggregate } = sum;
  return (
    <>
      {'average' in aggregate && <p>Mean {numberText(aggregate.average)}</p>}
      <dl className={styles.counts}>
        {counts.map(([label, count]) => (
          <Bar key={label} label={label} count={count} share={count / most} />
        ))}
      </dl>
      <p className="quiet">
        {countText(aggregate.unrated_count)} of {countText(records)} records have no answer.
      </p>
    </>
  );
}

function Bar({ label, count, share }: { label: string; count: number; share: number }) {
  return (
    <>
      <dt>{label}</dt>
      <dd className={styles.bar} style={{ width: `${share * 100}%` }} />
      <dd className="number">{countText(count)}</dd>
    </>
  );
}

/** How often each answer was given. Texts are only counted. */
function countsOf(sum: AnnotationAggregate['aggregate'], template: Template): [label: string, count: number][] {
  switch (sum.annotation_type) {
    case 'like_dislike':
      return [
        ['👍 Yes', sum.like_count],
        ['👎 No', sum.dislike_count],
        ...(sum.tie_count === null ? [] : [['Records with as many of both', sum.tie_count] as [string, number]]),
      ];
    case 'score':
      return sum.buckets.map(({ min_inclusive: min, max_exclusive: max, count }) => [
        max === null ? `${min} and more` : max - 1 === min ? String(min) : `${min} to ${max - 1}`,
        count,
      ]);
    case 'text':
      return [['Texts', sum.count]];
    case 'tree_choice': {
      const labels = new Map(
        template.constraints.annotation_type === 'tree_choice' ? pathsOf(template.constraints.choices_tree) : [],
      );
      return Object.entries(sum.counts).map(([id, count]) => [labels.get(id) ?? id, count]);
    }
    default:
      return Object.entries(sum.counts);
  }
}

function Progress({ queue }: { queue: Queue }) {
  const { data } = useQuery(annotatorsQuery(queue.id));
  const rated = (userId: string) => queue.num_logs_annotated?.[userId];
  if (!data) return null;
  return (
    <section aria-label="People">
      <h2>People</h2>
      <ul className={styles.list}>
        {data.map(({ user_id, email, progress }) => (
          <li key={user_id}>
            <span>{email}</span>
            <ShareBar label={`Rated by ${email}`} share={progress} />
            <span className="number">
              {countText(rated(user_id))} of {countText(queue.num_log_records)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
