import { useMutation, useQuery } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import {
  addToGroup,
  createGroup,
  type Group,
  type GroupRole,
  groupsQuery,
  membersQuery,
  removeFromGroup,
  usersQuery,
} from '../../data/accounts.ts';
import { useStanding } from '../../data/permissions.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { LoadingNote } from '../../parts/notes.tsx';
import { say } from '../../parts/notice.ts';
import { NoPart } from '../NoPart.tsx';
import { SectionHead } from '../SectionHead.tsx';
import styles from '../Settings.module.css';
import { NewGroup } from './NewGroup.tsx';

/** Groups of users, with whom things can be shared. Administrators make them and put users in. */
export function GroupsPage() {
  const { isUser, managesUsers } = useStanding();
  const { data, error, refetch } = useQuery({ ...groupsQuery, enabled: isUser });
  return (
    <>
      <SectionHead title="Groups" />
      {!isUser && <NoPart what="groups" />}
      {isUser && <p className="quiet">A thing that is shared with a group is shared with all of its members.</p>}
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : isUser && !data && <LoadingNote what="groups" />}
      {managesUsers && <NewGroup onMake={createGroup} />}
      {data && (
        <section className={styles.part} aria-label="All groups">
          <h2>All groups</h2>
          {data.length === 0 && <p>There is none{managesUsers ? '' : ' that you see; administrators make them'}.</p>}
          <ul className={styles.list}>
            {data.map((group) => (
              <GroupLine key={group.id} group={group} mayAdd={managesUsers} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

const roles = ['member', 'maintainer', 'pending'] as const satisfies readonly GroupRole[];

function GroupLine({ group: { id, name, description, visibility }, mayAdd }: { group: Group; mayAdd: boolean }) {
  const { data: users = [] } = useQuery(usersQuery);
  const adding = useMutation({
    mutationFn: ({ user, role }: { user: string; role: GroupRole }) => addToGroup(id, user, role),
    onSuccess: (_done, { user, role }) => say(`${users.find((one) => one.id === user)?.email} is ${role} of ${name}`),
  });
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    adding.mutate({ user: String(form.get('user')), role: form.get('role') as GroupRole });
  };
  return (
    <li>
      <span>
        {name} <span className="quiet">{[visibility, description].filter(Boolean).join(', ')}</span>
      </span>
      {mayAdd && (
        <form className={styles.buttons} onSubmit={send} aria-label={`Add to ${name}`}>
          <select name="user" required defaultValue="" aria-label={`Who is added to ${name}`}>
            <option value="" disabled>
              Choose a user
            </option>
            {users.map((user) => (
              <option key={user.id} value={user.id}>
                {user.email}
              </option>
            ))}
          </select>
          <select name="role" aria-label={`Role in ${name}`}>
            {roles.map((role) => (
              <option key={role}>{role}</option>
            ))}
          </select>
          <button type="submit" disabled={adding.isPending}>
            Add
          </button>
        </form>
      )}
      {adding.error && <ErrorNote error={adding.error} />}
      {mayAdd && <Members group={id} name={name} />}
    </li>
  );
}

function Members({ group, name }: { group: string; name: string }) {
  const { data: members, error, refetch } = useQuery(membersQuery(group));
  const removing = useMutation({ mutationFn: (userId: string) => removeFromGroup(group, userId) });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!members) return <LoadingNote what="the members" />;
  return (
    <>
      <ul className={styles.list} aria-label={`Members of ${name}`}>
        {members.map(({ user_id, email, group_role }) => (
          <li key={user_id}>
            <span>
              {email} <span className="quiet">{group_role}</span>
            </span>
            <button
              type="button"
              aria-label={`Take out ${email} of ${name}`}
              disabled={removing.isPending}
              onClick={() => removing.mutate(user_id)}
            >
              Take out
            </button>
          </li>
        ))}
      </ul>
      {members.length === 0 && <p className="quiet">It has no members.</p>}
      {removing.error && <ErrorNote error={removing.error} />}
    </>
  );
}
