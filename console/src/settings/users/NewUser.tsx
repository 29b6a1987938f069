import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { createUser, type UserRole } from '../../data/accounts.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { Field } from '../../parts/Field.tsx';
import { fieldProblems } from '../../parts/fieldProblems.ts';
import { say } from '../../parts/notice.ts';
import { useDraft } from '../../parts/useDraft.ts';
import { NewPasswordInput } from '../NewPasswordInput.tsx';
import styles from '../Settings.module.css';
import { roleTexts, userRoleNames } from './userRoles.ts';

interface Draft {
  email: string;
  role: UserRole;
}

/** Makes an account, with a first password that its user changes. */
export function NewUser() {
  const [draft, setDraft] = useDraft<Draft>('user');
  const { email, role } = draft ?? { email: '', role: 'user' };
  const [password, setPassword] = useState('');
  const making = useMutation({
    mutationFn: () => createUser({ email: email.trim(), password, role }),
    onSuccess() {
      say(`${email.trim()} may sign in`);
      setDraft(undefined);
      setPassword('');
    },
  });
  const problems = fieldProblems(making.error, ['email', 'password', 'role']);
  const send = (event: FormEvent) => {
    event.preventDefault();
    making.mutate();
  };
  return (
    <section className={styles.part} aria-label="New user">
      <h2>New user</h2>
      <form className={styles.form} onSubmit={send} autoComplete="off">
        <div className={styles.two}>
          <Field label="E-mail" problem={problems.of('email')}>
            {(of) => (
              <input
                {...of}
                type="email"
                required
                autoComplete="off"
                value={email}
                onChange={({ target }) => setDraft({ role, email: target.value })}
              />
            )}
          </Field>
          <Field label="Role" hint={roleTexts[role].text} problem={problems.of('role')}>
            {(of) => (
              <select {...of} value={role} onChange={({ target }) => setDraft({ email, role: target.value as UserRole })}>
                {userRoleNames.map((one) => (
                  <option key={one} value={one}>
                    {roleTexts[one].label}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <NewPasswordInput
            label="First password"
            hint="Hand it to them."
            problem={problems.of('password')}
            value={password}
            onChange={setPassword}
          />
        </div>
        {problems.rest !== undefined && <ErrorNote error={problems.rest} />}
        <div className={styles.buttons}>
          <button type="submit" className="primary" disabled={making.isPending}>
            Make the account
          </button>
        </div>
      </form>
    </section>
  );
}
