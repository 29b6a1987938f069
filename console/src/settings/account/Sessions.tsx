import { useMutation, useQuery } from '@tanstack/react-query';
import { endOtherSessions, endSessions, type Session, sessionsQuery } from '../../data/accounts.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { countText } from '../../parts/format.ts';
import { LoadingNote } from '../../parts/notes.tsx';
import { say } from '../../parts/notice.ts';
import { Time } from '../../parts/Time.tsx';
import styles from '../Settings.module.css';

/** The service lists so many. */
const LISTED = 100;

/** Where the account is signed in by password. */
export function Sessions() {
  const { data, error, refetch } = useQuery({ ...sessionsQuery, staleTime: 0 });
  const ending = useMutation({ mutationFn: (id: string) => endSessions([id]), onSuccess: () => say('The session is ended') });
  const endingAll = useMutation({
    mutationFn: endOtherSessions,
    onSuccess: (count) => say(count === 1 ? 'One session is ended' : `${countText(count)} sessions are ended`),
  });
  const problem = ending.error ?? endingAll.error;
  const others = (data ?? []).filter((one) => !one.is_current);
  return (
    <section className={styles.part} aria-label="Sessions">
      <h2>Sessions</h2>
      <p className="quiet">
        Browsers and programs that signed in by password. One that you end is signed out at once. API keys are no sessions: they
        stay.
      </p>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="sessions" />}
      {problem && <ErrorNote error={problem} />}
      {data?.length === 0 && <p>There is none: you signed in with an API key.</p>}
      <ul className={styles.list}>
        {data?.map((session) => (
          <li key={session.id}>
            <span>
              {programOf(session)}
              <br />
              <span className="quiet">
                {session.address ?? 'address unknown'}, last used <Time at={session.last_used} />, signed in{' '}
                <Time at={session.created_at} />
              </span>
            </span>
            {session.is_current ? (
              <strong>This one</strong>
            ) : (
              <button
                type="button"
                aria-label={`End the session of ${programOf(session)}`}
                disabled={ending.isPending}
                onClick={() => ending.mutate(session.id)}
              >
                End
              </button>
            )}
          </li>
        ))}
      </ul>
      {data && data.length >= LISTED && <p className="quiet">The hundred that were used last are listed.</p>}
      {others.length > 0 && (
        <div>
          <button type="button" disabled={endingAll.isPending} onClick={() => endingAll.mutate()}>
            End all others
          </button>
        </div>
      )}
    </section>
  );
}

const browsers = [
  [/Edg\//, 'Edge'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;
const systems = [
  [/Windows/, 'Windows'],
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
] as const;

const named = (names: readonly (readonly [RegExp, string])[], text: string) => names.find(([one]) => one.test(text))?.[1];

/** The browser and its system, or the program as it names itself. */
function programOf({ user_agent }: Session): string {
  if (user_agent === null) return 'A program without a name';
  const browser = named(browsers, user_agent);
  if (browser === undefined) return user_agent.slice(0, 80);
  const system = named(systems, user_agent);
  return system === undefined ? browser : `${browser} on ${system}`;
}
