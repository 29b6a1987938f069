import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Key, keysQuery, revokeKey } from '../../data/accounts.ts';
import { useStanding } from '../../data/permissions.ts';
import { currentUserQuery, projectsQuery } from '../../data/projects.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import lists from '../../parts/ListPage.module.css';
import { LoadingNote } from '../../parts/notes.tsx';
import { say } from '../../parts/notice.ts';
import { Time } from '../../parts/Time.tsx';
import { ConfirmDialog } from '../ConfirmDialog.tsx';
import { NoPart } from '../NoPart.tsx';
import { SectionHead } from '../SectionHead.tsx';
import styles from '../Settings.module.css';
import { NewKey } from './NewKey.tsx';

/** The API keys of the account: what each reaches, and when it was used. */
export function KeysPage() {
  const { data: user } = useQuery(currentUserQuery);
  const { isUser } = useStanding();
  return (
    <>
      <SectionHead title="API keys" />
      {user && !isUser && <NoPart what="keys" />}
      {user && isUser && (
        <>
          <NewKey />
          <Keys userId={user.id} />
        </>
      )}
    </>
  );
}

function Keys({ userId }: { userId: string }) {
  const { data, error, refetch } = useQuery(keysQuery(userId));
  const { data: projects } = useQuery(projectsQuery(''));
  const [revoked, setRevoked] = useState<Key>();
  const nameOf = (id: string) => projects?.projects.find((one) => one.id === id)?.name ?? id;
  const scopeOf = ({ project_id, project_role, ingest_only }: Key) =>
    project_id === null ? 'all that you may' : `${ingest_only ? 'only log to' : `${project_role} of`} ${nameOf(project_id)}`;
  return (
    <section className={styles.part} aria-label="Keys">
      <h2>Your keys</h2>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="keys" />}
      {data?.length === 0 && <p>There is none.</p>}
      {data && data.length > 0 && (
        <table className={lists.table}>
          <thead>
            <tr>
              <th scope="col">For</th>
              <th scope="col" className={lists.wide}>
                Key
              </th>
              <th scope="col">May do</th>
              <th scope="col" className={`number ${lists.wide}`}>
                Last used
              </th>
              <th scope="col" className={`number ${lists.wide}`}>
                Ends
              </th>
              <td />
            </tr>
          </thead>
          <tbody>
            {data.map((key) => (
              <tr key={key.id}>
                <td>{key.description || <span className="quiet">not said</span>}</td>
                <td className={lists.wide}>
                  <code>{key.truncated}</code>
                </td>
                <td>{hasEnded(key) ? <span className="quiet">nothing: it has ended</span> : scopeOf(key)}</td>
                <td className={`number ${lists.wide}`}>{key.last_used ? <Time at={key.last_used} /> : 'never'}</td>
                <td className={`number ${lists.wide}`}>{key.expires_at ? <Time at={key.expires_at} /> : 'never'}</td>
                <td className="number">
                  <button type="button" aria-label={`Revoke ${key.description || key.truncated}`} onClick={() => setRevoked(key)}>
                    Revoke
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {revoked && (
        <ConfirmDialog
          title={`Revoke the key “${revoked.description || revoked.truncated}”?`}
          action="Revoke it"
          onConfirm={async () => {
            await revokeKey(revoked.id);
            say('The key is revoked');
          }}
          onClose={() => setRevoked(undefined)}
        >
          <p>
            Every program that calls with {revoked.truncated} is refused from then on, and so are the tokens that were made with
            it. What they log is lost where they do not keep it. The key does not come back.
          </p>
          <p>It was last used: {revoked.last_used ? <Time at={revoked.last_used} /> : 'never'}.</p>
        </ConfirmDialog>
      )}
    </section>
  );
}

/** The key is refused from then on, and stays in the list until it is revoked. */
const hasEnded = ({ expires_at }: Key): boolean => expires_at !== null && Date.parse(expires_at) <= Date.now();
