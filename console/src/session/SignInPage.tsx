import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { ownPlace } from '../address/ownPlace.ts';
import { queryClient } from '../data/service.ts';
import { useTitle } from '../parts/useTitle.ts';
import styles from './SignInPage.module.css';
import { signIn } from './session.ts';

/** Sign-in by password or API key. What was typed stays after an error. */
export function SignInPage() {
  useTitle('Sign in');
  const { next } = useSearch({ from: '/sign-in' });
  const navigate = useNavigate();
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);

  const send = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const key = String(fields.get('api_key')).trim();
    setSending(true);
    try {
      await signIn(
        key === '' ? { email: String(fields.get('email')), password: String(fields.get('password')) } : { api_key: key },
      );
      queryClient.clear();
      await navigate({ to: ownPlace(next) });
    } catch (err) {
      setProblem((err as Error).message);
      setSending(false);
    }
  };

  return (
    <main className={styles.page}>
      <form className={styles.form} onSubmit={(event) => void send(event)}>
        <h1>Sign in to Assay</h1>
        {problem !== undefined && (
          <p role="alert" className="bad">
            {problem}
          </p>
        )}
        <label>
          E-mail
          <input name="email" type="email" autoComplete="username" />
        </label>
        <label>
          Password
          <input name="password" type="password" autoComplete="current-password" />
        </label>
        <p className="quiet">or</p>
        <label>
          API key
          <input name="api_key" type="password" autoComplete="off" />
        </label>
        <button type="submit" className="primary" disabled={isSending}>
          Sign in
        </button>
      </form>
    </main>
  );
}
