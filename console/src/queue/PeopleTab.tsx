import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { type Annotator, annotatorsQuery, mayDo, type Queue, removeAnnotator, setAnnotator } from '../data/annotations.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { useDraft } from '../parts/useDraft.ts';
import styles from './QueuePage.module.css';

const roles = ['viewer', 'annotator', 'editor', 'owner'] as const satisfies readonly Annotator['role'][];

/** Lists the people who see a queue, and what each may do there. */
export function PeopleTab({ queue }: { queue: Queue }) {
  const cached = useQueryClient();
  const { data, error } = useQuery(annotatorsQuery(queue.id));
  const onSuccess = () =>
    Promise.all([
      cached.invalidateQueries({ queryKey: ['annotators', queue.id] }),
      cached.invalidateQueries({ queryKey: ['queue', queue.id] }),
    ]);
  const setting = useMutation({
    mutationFn: ({ email, role }: { email: string; role: Annotator['role'] }) => setAnnotator(queue.id, email, role),
    onSuccess,
  });
  const removing = useMutation({ mutationFn: (userId: string) => removeAnnotator(queue.id, userId), onSuccess });
  const mayShare = mayDo(queue, 'share');
  const [email, setEmail] = useDraft<string>(`person of queue ${queue.id}`);
  const add = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const role = new FormData(event.currentTarget).get('role') as Annotator['role'];
    setting.mutate({ email: (email ?? '').trim(), role }, { onSuccess: () => setEmail(undefined) });
  };
  const problem = error ?? setting.error ?? removing.error;
  return (
    <div className={styles.settings}>
      {problem && <ErrorNote error={problem} />}
      {!data && !error && <LoadingNote what="the people" />}
      <ul className={styles.list}>
        {data?.map(({ user_id, email, role }) => (
          <li key={user_id}>
            <span>{email}</span>
            {mayShare ? (
              <>
                <select
                  aria-label={`Role of ${email}`}
                  value={role}
                  onChange={({ target }) => setting.mutate({ email, role: target.value as Annotator['role'] })}
                >
                  {roles.map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </select>
                <button type="button" onClick={() => removing.mutate(user_id)}>
                  Remove
                </button>
              </>
            ) : (
              <span className="quiet">{role}</span>
            )}
          </li>
        ))}
      </ul>
      {mayShare && (
        <form aria-label="Add somebody" className={styles.row} onSubmit={add}>
          <label>
            E-mail
            <input type="email" required value={email ?? ''} onChange={(event) => setEmail(event.target.value)} />
          </label>
          <label>
            Role
            <select name="role" defaultValue="annotator">
              {roles.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
          <button type="submit" className="primary">
            Add
          </button>
        </form>
      )}
    </div>
  );
}
