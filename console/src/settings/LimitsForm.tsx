import { useMutation } from '@tanstack/react-query';
import type { ComponentProps, FormEvent } from 'react';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { Field } from '../parts/Field.tsx';
import { fieldProblems } from '../parts/fieldProblems.ts';
import { say } from '../parts/notice.ts';
import { useDraft } from '../parts/useDraft.ts';
import styles from './Settings.module.css';

export interface LimitField<Name extends string> {
  name: Name;
  label: string;
  hint?: string;
  /** The placeholder says what holds while the field is empty. */
  input: Pick<ComponentProps<'input'>, 'inputMode' | 'pattern' | 'placeholder'>;
}

interface Props<Name extends string> {
  fields: readonly LimitField<Name>[];
  limits: Readonly<Partial<Record<Name, number | null | undefined>>>;
  /** Names the draft, which lasts until it is saved. */
  draftKey: string;
  /** Stores the limits: null for an empty field. A text that is no number is passed as it is, so that the service refuses it by name. */
  save(limits: Record<Name, number | string | null>): Promise<void>;
  /** The notice once the limits are stored. */
  saved: string;
}

/** Edits a set of limits, each of which may be empty. */
export function LimitsForm<Name extends string>({ fields, limits, draftKey, save, saved }: Props<Name>) {
  const [draft, setDraft] = useDraft<Partial<Record<Name, string>>>(draftKey);
  const textOf = (name: Name) => draft?.[name] ?? String(limits[name] ?? '');
  const saving = useMutation({
    mutationFn: () =>
      save(Object.fromEntries(fields.map(({ name }) => [name, amountOf(textOf(name))])) as Record<Name, number | string | null>),
    onSuccess() {
      setDraft(undefined);
      say(saved);
    },
  });
  const problems = fieldProblems(
    saving.error,
    fields.map(({ name }) => name),
  );
  const send = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <form className={styles.form} onSubmit={send}>
      <div className={styles.two}>
        {fields.map(({ name, label, hint, input }) => (
          <Field key={name} label={label} hint={hint} problem={problems.of(name)}>
            {(of) => (
              <input
                {...of}
                {...input}
                value={textOf(name)}
                onChange={({ target }) => setDraft({ ...draft, [name]: target.value } as Partial<Record<Name, string>>)}
              />
            )}
          </Field>
        ))}
      </div>
      {problems.rest !== undefined && <ErrorNote error={problems.rest} />}
      <div className={styles.buttons}>
        <button type="submit" disabled={saving.isPending || !draft}>
          Save the limits
        </button>
      </div>
    </form>
  );
}

function amountOf(text: string): number | string | null {
  if (text.trim() === '') return null;
  const amount = Number(text);
  return Number.isNaN(amount) ? text : amount;
}
