import { type QueryKey, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answersTo, type Queue, type Rating, rate, type Template, unrate } from '../data/annotations.ts';
import { currentUserQuery } from '../data/projects.ts';
import type { RecordNode } from '../data/records.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import styles from './Annotations.module.css';
import { RatingField } from './RatingField.tsx';
import { Typed } from './Typed.tsx';

interface Props {
  queue: Queue;
  template: Template;
  record: RecordNode;
  /** Keys of the questions to the service whose answers a rating changes. */
  changes: readonly QueryKey[];
  isOff: boolean;
}

interface Answer {
  /** Undefined takes the answer back. */
  value: Rating['value'] | undefined;
  reason?: string | undefined;
}

/** One question about a record, with the answer of the person and room for its reason. */
export function Question({ queue, template, record, changes, isOff }: Props) {
  const { data: user } = useQuery(currentUserQuery);
  const cached = useQueryClient();
  const answers = answersTo(record, template.id);
  const own = user ? answers[user.id] : undefined;
  const others = Object.keys(answers).length - (own ? 1 : 0);
  const of = { queueId: queue.id, recordId: record.id, templateId: template.id };
  const rating = useMutation({
    // One after the other: the service keeps the answer that was given last.
    scope: { id: `${record.id} ${template.id}` },
    mutationFn: ({ value, reason }: Answer) =>
      value === undefined
        ? unrate(of)
        : rate(of, { annotation_type: template.constraints.annotation_type, value } as Rating, reason),
    onSettled: () => Promise.all(changes.map((queryKey) => cached.invalidateQueries({ queryKey }))),
  });
  // A mutation says a moment later that it is under way. Until then a select would go back to the old answer, and the next key start from there.
  const [sent, setSent] = useState<Answer>();
  const answer = (given: Answer) => {
    setSent(given);
    rating.mutate(given, { onSettled: () => setSent(undefined) });
  };
  const shown = sent ? sent.value : own?.value;
  const draftOf = (what: string, stored: unknown) => ({
    key: `${what} ${user?.id} ${record.id} ${template.id}`,
    over: String(stored ?? ''),
  });
  const reason = (sent ? sent.reason : own?.explanation) ?? undefined;
  return (
    <fieldset className={styles.question} disabled={isOff} data-open={shown === undefined || undefined}>
      <legend>
        {template.name}
        {others > 0 && <span className="quiet"> · {others} of others</span>}
      </legend>
      {template.criteria && <p className="quiet">{template.criteria}</p>}
      <RatingField
        draft={draftOf('value', own?.value)}
        constraints={template.constraints}
        value={shown}
        onRate={(value) => answer({ value, reason })}
      />
      {template.include_explanation && shown !== undefined && (
        <Typed
          draft={draftOf('reason', own?.explanation)}
          kind="text"
          placeholder="Why? (optional)"
          value={reason}
          onRate={(text) => answer({ value: shown, reason: text || undefined })}
        />
      )}
      {rating.error && <ErrorNote error={rating.error} />}
    </fieldset>
  );
}
