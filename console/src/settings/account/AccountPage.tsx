import { useQuery } from '@tanstack/react-query';
import { useStanding } from '../../data/permissions.ts';
import { currentUserQuery } from '../../data/projects.ts';
import { Time } from '../../parts/Time.tsx';
import { NoPart } from '../NoPart.tsx';
import { SectionHead } from '../SectionHead.tsx';
import styles from '../Settings.module.css';
import { roleTexts } from '../users/userRoles.ts';
import { PasswordForm } from './PasswordForm.tsx';
import { Sessions } from './Sessions.tsx';

/** The account that is signed in: who it is, where it is signed in, and its password. */
export function AccountPage() {
  const { data: user } = useQuery(currentUserQuery);
  const { isUser } = useStanding();
  return (
    <>
      <SectionHead title="Your account" />
      {user && (
        <dl className={styles.facts}>
          <dt>E-mail</dt>
          <dd>{user.email}</dd>
          <dt>Role</dt>
          <dd>
            {roleTexts[user.role].label}: {roleTexts[user.role].text}
          </dd>
          <dt>Organization</dt>
          <dd>{user.organization_name}</dd>
          <dt>Since</dt>
          <dd>
            <Time at={user.created_at} />
          </dd>
        </dl>
      )}
      {user && !isUser && <NoPart what="sessions and passwords" />}
      {user && isUser && (
        <>
          <Sessions />
          <PasswordForm />
        </>
      )}
    </>
  );
}
