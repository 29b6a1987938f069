import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { type Queue, queueQuery, type Rating, rate, type Template, unrate } from '../data/annotations.ts';
import { currentUserQuery } from '../data/projects.ts';
import type { RecordNode } from '../data/records.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { useKeys } from '../parts/useKeys.ts';
import styles from './Annotations.module.css';
import { RatingField } from './RatingField.tsx';

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
  const mayRate = queue.permissions.some(({ action, allowed }) => action === 'record_annotation' && allowed);
  return (
    <div className={styles.questions}>
      <p className="quiet">{queue.name}</p>
      {queue.templates.length === 0 && <p className="quiet">This queue has no questions yet.</p>}
      {queue.templates.map((template) => (
        <Question key={template.id} {...{ queue, template, record, projectId }} isOff={!mayRate} />
      ))}
    </div>
  );
}

interface QuestionProps {
  queue: Queue;
  template: Template;
  record: RecordNode;
  projectId: string;
  isOff: boolean;
}

type Given = Record<string, Record<string, { value: Rating['value'] }>>;

function Question({ queue, template, record, projectId, isOff }: QuestionProps) {
  const { data: user } = useQuery(currentUserQuery);
  const cached = useQueryClient();
  const answers = Object.entries(((record.annotations ?? {}) as Given)[template.id] ?? {});
  const own = answers.find(([id]) => id === user?.id)?.[1].value;
  const others = answers.length - (own === undefined ? 0 : 1);
  const of = { queueId: queue.id, recordId: record.id, templateId: template.id };
  const rating = useMutation({
    mutationFn: (value: Rating['value'] | undefined) =>
      value === undefined ? unrate(of) : rate(of, { annotation_type: template.constraints.annotation_type, value } as Rating),
    onSettled: () => cached.invalidateQueries({ queryKey: ['record', projectId] }),
  });
  const shown = rating.isPending ? rating.variables : own;
  return (
    <fieldset className={styles.question} disabled={isOff} data-open={shown === undefined || undefined}>
      <legend>
        {template.name}
        {others > 0 && <span className="quiet"> · {others} of others</span>}
      </legend>
      {template.criteria && <p className="quiet">{template.criteria}</p>}
      <RatingField constraints={template.constraints} value={shown} onRate={rating.mutate} />
      {rating.error && <ErrorNote error={rating.error} />}
    </fieldset>
  );
}
