import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import { may } from '../data/assets.ts';
import { changeMetric, type Metric } from '../data/metrics.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { say } from '../parts/notice.ts';
import { useDraft } from '../parts/useDraft.ts';
import { LongText } from '../payload/LongText.tsx';
import { CheckForm } from './CheckForm.tsx';
import { type Check, type CheckDraft, checkWords, draftOfCheck, isBlankCheck, modeWords, scorerOfCheck } from './checkDraft.ts';
import styles from './Judge.module.css';

interface Props {
  metric: Metric;
  check: Check;
  facts: ReactNode;
}

/** Shows the settings of a check, or the form that changes them. */
export function CheckText({ metric, check, facts }: Props) {
  const [draft, setDraft] = useDraft<CheckDraft>(`check ${metric.id}`);
  const mayChange = may(metric, 'update');
  if (draft && mayChange) return <CheckEditor {...{ metric, draft }} onDraft={setDraft} />;
  return (
    <>
      <div className={styles.bar}>
        <h2>True where {checkWords[check.type]}</h2>
        {mayChange && (
          <button type="button" className="primary" onClick={() => setDraft(draftOfCheck(metric, check))}>
            Change the check
          </button>
        )}
      </div>
      <section className={styles.source} aria-label="Settings of the check">
        <LongText text={settingsText(check)} />
      </section>
      {facts}
    </>
  );
}

/** The settings with their names in the interface, one a line. */
const settingsText = ({ type: _shown, ...settings }: Check): string =>
  Object.entries(settings)
    .map(([name, value]) => {
      const said = name === 'mode' ? `${value} (${modeWords[value as keyof typeof modeWords]})` : value;
      return `${name}: ${typeof said === 'string' ? said : jsonWithBigInts(said, undefined, 2)}`;
    })
    .join('\n');

function CheckEditor({
  metric,
  draft,
  onDraft,
}: {
  metric: Metric;
  draft: CheckDraft;
  onDraft(draft: CheckDraft | undefined): void;
}) {
  const saving = useMutation({
    mutationFn: () => changeMetric(metric.id, changeOf(draft)),
    onSuccess() {
      say('Saved the check');
      onDraft(undefined);
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <form className={styles.editor} aria-label="Check" onSubmit={send}>
      <div className={styles.bar}>
        <h2>Change the check</h2>
        <button type="button" onClick={() => onDraft(undefined)}>
          Discard
        </button>
        <button type="submit" className="primary" disabled={saving.isPending || isBlankCheck(draft)}>
          {saving.isPending ? 'Saving …' : 'Save the check'}
        </button>
      </div>
      <p className="quiet">It holds for what is scored from then on. A run that has begun goes on with what it began with.</p>
      {saving.error && <ErrorNote error={saving.error} />}
      <CheckForm draft={draft} onDraft={onDraft} isNew={false} />
    </form>
  );
}

/** Another tab may have renamed it meanwhile. */
const changeOf = (draft: CheckDraft) => ({ ...scorerOfCheck(draft), name: undefined });
