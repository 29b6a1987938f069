import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { createUser, inviteUser, type UserRole } from '../../data/accounts.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { Field } from '../../parts/Field.tsx';
import { fieldProblems } from '../../parts/fieldProblems.ts';
import { say } from '../../parts/notice.ts';
import { useDraft } from '../../parts/useDraft.ts';
import { NewPasswordInput } from '../NewPasswordInput.tsx';
import styles from '../Settings.module.css';
import { ShownOnce } from '../ShownOnce.tsx';
import { roleTexts, userRoleNames } from './userRoles.ts';

interface Draft {
  email: string;
  role: UserRole;
}

/** Makes an account, with a first password that its user changes, or a link with which they make it. */
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
  const inviting = useMutation({
    mutationFn: () => inviteUser({ email: email.trim(), role }),
    onMutate: () => making.reset(),
    onSuccess: () => setDraft(undefined),
    gcTime: 0,
  });
  const problems = fieldProblems(making.error ?? inviting.error, ['email', 'password', 'role', 'emails']);
  const send = (event: FormEvent) => {
    event.preventDefault();
    inviting.reset();
    making.mutate();
  };
  return (
    <section className={styles.part} aria-label="New user">
      <h2>New user</h2>
      <form className={styles.form} onSubmit={send} autoComplete="off">
        <div className={styles.two}>
          <Field label="E-mail" problem={problems.of('email') ?? problems.of('emails')}>
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
            hint="Hand it to them, or invite them: they choose one."
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
          <button type="button" disabled={inviting.isPending || email.trim() === ''} onClick={() => inviting.mutate()}>
            Invite by a link
          </button>
        </div>
      </form>
      {inviting.data !== undefined && (
        <ShownOnce
          label="The link of the invitation"
          secret={inviting.data}
          note="hand it on. With it they choose a password and have the account, once, within a week."
          onClose={() => inviting.reset()}
        />
      )}
    </section>
  );
}
