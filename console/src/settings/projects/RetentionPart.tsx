import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Effect, retentionEffect, retentionQuery, setRetention } from '../../data/projectSettings.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { Field } from '../../parts/Field.tsx';
import { fieldProblems } from '../../parts/fieldProblems.ts';
import { countText } from '../../parts/format.ts';
import { LoadingNote } from '../../parts/notes.tsx';
import { say } from '../../parts/notice.ts';
import { Time } from '../../parts/Time.tsx';
import { useDraft } from '../../parts/useDraft.ts';
import { ConfirmDialog } from '../ConfirmDialog.tsx';
import styles from '../Settings.module.css';

interface Props {
  project: { id: string; name: string };
  mayChange: boolean;
}

const daysText = (days: number | null): string =>
  days === null ? 'for ever' : days === 1 ? 'one day' : `${countText(days)} days`;

/** The part of the settings with the time that a project keeps its records. Before it shortens the time, it shows what goes and has the days typed again. */
export function RetentionPart({ project: { id, name }, mayChange }: Props) {
  const { data, error, refetch } = useQuery(retentionQuery(id));
  const [draft, setDraft] = useDraft<string>(`retention of ${id}`);
  const [effect, setEffect] = useState<Effect>();
  const text = draft ?? String(data?.retention_days ?? '');
  const days = text.trim() === '' ? null : Number(text);
  const now = data?.retention_days ?? null;
  const isShorter = days !== null && (now === null || days < now);
  const save = async () => {
    await setRetention(id, days);
    setDraft(undefined);
    say(`${name} keeps its records ${daysText(days)}`);
  };
  const changing = useMutation({
    mutationFn: async () => (isShorter ? setEffect(await retentionEffect(id, days)) : save()),
  });
  const problems = fieldProblems(changing.error, ['retention_days']);
  const send = (event: FormEvent) => {
    event.preventDefault();
    changing.mutate();
  };
  return (
    <section className={styles.part} aria-label="Retention">
      <h2>Retention</h2>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="the retention" />}
      {data && (
        <p>
          Records are kept <strong>{daysText(now)}</strong>
          {data.expired_before !== null && (
            <>
              : a trace whose newest record is older than <Time at={data.expired_before} /> is not shown, and is deleted within a
              day
            </>
          )}
          .
        </p>
      )}
      {data && mayChange && (
        <form className={`${styles.row} ${styles.hinted}`} onSubmit={send}>
          <Field
            label="Days to keep"
            hint="Of 24 hours, by the newest record of a trace. Empty: for ever."
            problem={problems.of('retention_days')}
          >
            {(of) => (
              <input
                {...of}
                inputMode="numeric"
                pattern="[0-9]*"
                placeholder="for ever"
                value={text}
                onChange={({ target }) => setDraft(target.value)}
              />
            )}
          </Field>
          <button type="submit" disabled={changing.isPending || days === now}>
            Change it
          </button>
        </form>
      )}
      {problems.rest !== undefined && <ErrorNote error={problems.rest} />}
      {effect && days !== null && (
        <ConfirmDialog
          title={`Keep records of ${name} only ${daysText(days)}?`}
          action={effect.traces === 0 ? 'Change it' : 'Delete what is older'}
          typed={`keep ${days}`}
          onConfirm={save}
          onClose={() => setEffect(undefined)}
        >
          {effect.traces === 0 ? (
            <p>Nothing is that old now. What gets so old is deleted from then on.</p>
          ) : (
            <p>
              <strong>
                {countText(effect.traces)} {effect.traces === 1 ? 'trace' : 'traces'}
              </strong>{' '}
              with {countText(effect.records)} records go: those without a record since <Time at={effect.expired_before} />
              {effect.oldest !== null && (
                <>
                  , the oldest of <Time at={effect.oldest} />
                </>
              )}
              . No page shows them from then on, and within a day they are deleted for good.
            </p>
          )}
        </ConfirmDialog>
      )}
    </section>
  );
}
