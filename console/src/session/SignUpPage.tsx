import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { queryClient } from '../data/service.ts';
import { signUp } from '../data/signUp.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { fieldProblems } from '../parts/fieldProblems.ts';
import { useTitle } from '../parts/useTitle.ts';
import { NewPasswordInput } from '../settings/NewPasswordInput.tsx';
import styles from './SignInPage.module.css';
import { signIn } from './session.ts';

/** The page behind the link of an invitation: it asks for a password, makes the account, and signs in to it. */
export function SignUpPage() {
  useTitle('Sign up');
  const { token, email } = useSearch({ from: '/sign-up' });
  const navigate = useNavigate();
  const [password, setPassword] = useState('');
  const making = useMutation({
    mutationFn: async (signupToken: string) => {
      await signIn({ email: await signUp(signupToken, password), password });
      queryClient.clear();
      await navigate({ to: '/', replace: true });
    },
  });
  const problems = fieldProblems(making.error, ['password']);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (token !== undefined) making.mutate(token);
  };
  return (
    <main className={styles.page}>
      <form className={styles.form} onSubmit={send}>
        <h1>Sign up to Assay</h1>
        {token === undefined ? (
          <p role="alert">This address lacks the token of an invitation: open the whole link that you were sent.</p>
        ) : (
          <>
            <label>
              E-mail
              <input type="email" autoComplete="username" value={email ?? ''} readOnly />
            </label>
            <NewPasswordInput
              label="Password"
              hint="The link is used up with it."
              problem={problems.of('password')}
              value={password}
              onChange={setPassword}
            />
            {problems.rest !== undefined && <ErrorNote error={problems.rest} />}
            <button type="submit" className="primary" disabled={making.isPending}>
              Sign up
            </button>
          </>
        )}
        <Link to="/sign-in" search={{}}>
          Sign in to an account that you have
        </Link>
      </form>
    </main>
  );
}
