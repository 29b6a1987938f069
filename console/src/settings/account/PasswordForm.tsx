import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { changePassword, sessionsQuery } from '../../data/accounts.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { Field } from '../../parts/Field.tsx';
import { fieldProblems } from '../../parts/fieldProblems.ts';
import { say } from '../../parts/notice.ts';
import { NewPasswordInput } from '../NewPasswordInput.tsx';
import styles from '../Settings.module.css';

/** Changes the password of the account; its other sessions end. */
export function PasswordForm() {
  const [old, setOld] = useState('');
  const [next, setNext] = useState('');
  const cached = useQueryClient();
  const changing = useMutation({
    mutationFn: () => changePassword(old, next),
    async onSuccess() {
      setOld('');
      setNext('');
      say('The password is changed; your other sessions are ended');
      await cached.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
  });
  const problems = fieldProblems(changing.error, ['old_password', 'new_password']);
  const send = (event: FormEvent) => {
    event.preventDefault();
    changing.mutate();
  };
  return (
    <section className={styles.part} aria-label="Password">
      <h2>Password</h2>
      <form className={styles.form} onSubmit={send}>
        <div className={styles.two}>
          <Field label="Password now" problem={problems.of('old_password')}>
            {(of) => (
              <input
                {...of}
                type="password"
                required
                autoComplete="current-password"
                value={old}
                onChange={({ target }) => setOld(target.value)}
              />
            )}
          </Field>
          <NewPasswordInput
            label="New password"
            hint="All your other sessions end."
            problem={problems.of('new_password')}
            value={next}
            onChange={setNext}
          />
        </div>
        {problems.rest !== undefined && <ErrorNote error={problems.rest} />}
        <div className={styles.buttons}>
          <button type="submit" disabled={changing.isPending}>
            Change the password
          </button>
        </div>
      </form>
    </section>
  );
}
