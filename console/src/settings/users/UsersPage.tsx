import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  changeUserRole,
  endSessionsOf,
  mayOnUser,
  startPasswordReset,
  type UserRole,
  type UserRow,
  usersQuery,
} from '../../data/accounts.ts';
import { deleteUserLater, useGoing } from '../../data/deletions.ts';
import { useStanding } from '../../data/permissions.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import lists from '../../parts/ListPage.module.css';
import { LoadingNote } from '../../parts/notes.tsx';
import { say } from '../../parts/notice.ts';
import { Time } from '../../parts/Time.tsx';
import { NoPart } from '../NoPart.tsx';
import { SectionHead } from '../SectionHead.tsx';
import styles from '../Settings.module.css';
import { ShownOnce } from '../ShownOnce.tsx';
import { NewUser } from './NewUser.tsx';
import { roleTexts, userRoleNames } from './userRoles.ts';

/** The users of the organization and their roles. Administrators change them. */
export function UsersPage() {
  const { isUser, managesUsers } = useStanding();
  const { data, error, refetch } = useQuery({ ...usersQuery, enabled: isUser });
  const hidden = useGoing();
  const users = (data ?? []).filter(({ id }) => !hidden.has(id));
  return (
    <>
      <SectionHead title="Users" />
      {!isUser && <NoPart what="users" />}
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : isUser && !data && <LoadingNote what="users" />}
      {managesUsers && <NewUser />}
      {users.length > 0 && (
        <section className={styles.part} aria-label="All users">
          <h2>All users</h2>
          <ul className={styles.list}>
            {users.map((user) => (
              <User key={user.id} user={user} />
            ))}
          </ul>
        </section>
      )}
      <section className={styles.part} aria-label="Roles">
        <h2>Roles</h2>
        <dl className={styles.facts}>
          {userRoleNames.map((role) => (
            <div key={role}>
              <dt>{roleTexts[role].label}</dt>
              <dd>{roleTexts[role].text}</dd>
            </div>
          ))}
        </dl>
      </section>
    </>
  );
}

function User({ user }: { user: UserRow }) {
  const { id, email, role, created_at } = user;
  const [reset, setReset] = useState<string>();
  const changing = useMutation({ mutationFn: (next: UserRole) => changeUserRole(id, next) });
  const ending = useMutation({ mutationFn: () => endSessionsOf(id), onSuccess: () => say(`The sessions of ${email} are ended`) });
  const resetting = useMutation({
    mutationFn: () => startPasswordReset(id),
    onSuccess: ({ reset_token }) => setReset(reset_token),
    gcTime: 0,
  });
  const problem = changing.error ?? ending.error ?? resetting.error;
  const mayUpdate = mayOnUser(user, 'update');
  return (
    <li>
      <span>
        {email}{' '}
        <span className={`quiet ${lists.wide}`}>
          since <Time at={created_at} />
        </span>
      </span>
      {mayUpdate ? (
        <select aria-label={`Role of ${email}`} value={role} onChange={({ target }) => changing.mutate(target.value as UserRole)}>
          {userRoleNames.map((one) => (
            <option key={one} value={one}>
              {roleTexts[one].label}
            </option>
          ))}
        </select>
      ) : (
        <span className="quiet">{roleTexts[role].label}</span>
      )}
      {mayOnUser(user, 'delete') && (
        <>
          <button type="button" aria-label={`New password for ${email}`} onClick={() => resetting.mutate()}>
            New password
          </button>
          <button type="button" aria-label={`End sessions of ${email}`} onClick={() => ending.mutate()}>
            End sessions
          </button>
          <button type="button" aria-label={`Remove ${email}`} onClick={() => deleteUserLater(user)}>
            Remove
          </button>
        </>
      )}
      {problem && <ErrorNote error={problem} />}
      {reset !== undefined && (
        <ShownOnce
          label={`A token for ${email}`}
          secret={reset}
          note="with it they set a new password, once, within a day, by POST /password_reset. Nothing changes until then."
          onClose={() => setReset(undefined)}
        />
      )}
    </li>
  );
}
