import { useMutation, useQuery } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { type Role, rolesQuery, type Sharer, share, sharedWithQuery, unshare } from '../data/collaborators.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { useDraft } from '../parts/useDraft.ts';
import { GroupPicker } from './GroupPicker.tsx';
import styles from './Settings.module.css';

interface Props {
  /** Path of what is shared, such as `/projects/…`. */
  thing: string;
  /** Says who else has a part in it. */
  note: string;
  mayShare: boolean;
}

/** Lists the people and groups that a thing is shared with, and what each may do there. */
export function People({ thing, note, mayShare }: Props) {
  const { data, error } = useQuery(sharedWithQuery(thing));
  const { data: roles = [] } = useQuery(rolesQuery);
  const sharing = useMutation({ mutationFn: ({ who, role }: { who: Sharer; role: Role }) => share(thing, who, role) });
  const [email, setEmail] = useDraft<string>(`person of ${thing}`);
  const removing = useMutation({
    mutationFn: ({ kind, id }: { kind: 'users' | 'groups'; id: string }) => unshare(thing, kind, id),
  });
  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    const role = form.get('role') as Role;
    const group = form.get('group');
    const who = group ? { groupId: String(group) } : { email: email?.trim() ?? '' };
    const onSuccess = () => {
      element.reset();
      if (!group) setEmail(undefined);
    };
    sharing.mutate({ who, role }, { onSuccess });
  };
  const problem = error ?? sharing.error ?? removing.error;
  const lines = [
    ...(data?.people ?? []).map(({ user_id, email, role }) => ({ kind: 'users' as const, id: user_id, name: email, role })),
    ...(data?.groups ?? []).map(({ group_id, group_name, role }) => ({
      ...{ kind: 'groups' as const, id: group_id, name: `Group ${group_name}`, role },
    })),
  ];
  return (
    <section className={styles.part} aria-label="People">
      <h2>People</h2>
      <p className="quiet">{note}</p>
      {problem && <ErrorNote error={problem} />}
      {!data && !error && <LoadingNote what="the people" />}
      {data && lines.length === 0 && <p>It is shared with no one by name.</p>}
      <ul className={styles.list}>
        {lines.map(({ kind, id, name, role }) => (
          <li key={id}>
            <span>{name}</span>
            {mayShare ? (
              <>
                <select
                  aria-label={`Role of ${name}`}
                  value={role}
                  onChange={({ target }) =>
                    sharing.mutate({
                      who: kind === 'users' ? { email: name } : { groupId: id },
                      role: target.value as Role,
                    })
                  }
                >
                  {roles.map((one) => (
                    <option key={one.name} value={one.name}>
                      {one.display_name}
                    </option>
                  ))}
                </select>
                <button type="button" aria-label={`Remove ${name}`} onClick={() => removing.mutate({ kind, id })}>
                  Remove
                </button>
              </>
            ) : (
              <span className="quiet">{roles.find((one) => one.name === role)?.display_name ?? role}</span>
            )}
          </li>
        ))}
      </ul>
      {mayShare &&
        roles.length > 0 &&
        (['person', 'group'] as const).map((kind) => (
          <form key={kind} aria-label={`Share with a ${kind}`} className={styles.row} onSubmit={add}>
            {kind === 'person' ? (
              <label className={styles.labelled}>
                E-mail
                <input
                  type="email"
                  required
                  autoComplete="off"
                  value={email ?? ''}
                  onChange={({ target }) => setEmail(target.value || undefined)}
                />
              </label>
            ) : (
              <GroupPicker />
            )}
            <label className={styles.labelled}>
              Role
              <select name="role" aria-label="Role" defaultValue="viewer">
                {roles.map((one) => (
                  <option key={one.name} value={one.name} title={one.description}>
                    {one.display_name}
                  </option>
                ))}
              </select>
            </label>
            <button type="submit" disabled={sharing.isPending}>
              {kind === 'person' ? 'Add the person' : 'Add the group'}
            </button>
          </form>
        ))}
    </section>
  );
}
