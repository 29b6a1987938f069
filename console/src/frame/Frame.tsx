import { useIsFetching, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useParams, useRouterState } from '@tanstack/react-router';
import { useEffect } from 'react';
import { home } from '../address/home.ts';
import { currentUserQuery, projectQuery } from '../data/projects.ts';
import { Icon } from '../parts/Icon.tsx';
import { setPreferences, usePreferences } from '../parts/preferences.ts';
import { onSignedOut, signOut } from '../session/session.ts';
import { ConnectionBanner } from './ConnectionBanner.tsx';
import styles from './Frame.module.css';
import { Helpers } from './Helpers.tsx';
import { UndoBar } from './UndoBar.tsx';

/** What is around every page: where one is, who one is, and how one likes it. */
export function Frame() {
  const { projectId } = useParams({ strict: false });
  const busy = useIsFetching() > 0;
  useSignOutOfOtherTabs();
  return (
    <>
      <a className={styles.skip} href="#content">
        Skip to the content
      </a>
      <header className={styles.bar}>
        <Link to="/" className={styles.brand}>
          Assay
        </Link>
        <nav aria-label="Project" className={styles.where}>
          {projectId !== undefined && <ProjectName projectId={projectId} />}
        </nav>
        <Helpers />
        <span className={styles.busy} data-busy={busy} aria-hidden="true" />
        <PreferencesMenu />
      </header>
      <ConnectionBanner />
      <main id="content" className={styles.main} tabIndex={-1}>
        <Outlet />
      </main>
      <UndoBar />
    </>
  );
}

function ProjectName({ projectId }: { projectId: string }) {
  const { data } = useQuery(projectQuery(projectId));
  return (
    <>
      <span className="quiet" aria-hidden="true">
        /
      </span>
      <Link to="/p/$projectId/records" params={{ projectId }} search={{}} className="one-line">
        {data?.name ?? '…'}
      </Link>
    </>
  );
}

function PreferencesMenu() {
  const { data: user } = useQuery(currentUserQuery);
  const { theme, rows, zone } = usePreferences();
  const navigate = useNavigate();
  const leave = async () => {
    await signOut();
    await navigate({ to: '/sign-in', search: {} });
  };
  return (
    <>
      <button type="button" popoverTarget="preferences" className="plain">
        <span className={styles.person}>
          <Icon name="user" />
        </span>
        <span className={styles.account}>{user?.email ?? 'Account'}</span>
      </button>
      <div popover="auto" id="preferences" className={`menu ${styles.menu}`}>
        <Choice
          label="Theme"
          value={theme}
          values={['system', 'light', 'dark']}
          onChange={(it) => setPreferences({ theme: it })}
        />
        <Choice label="Rows" value={rows} values={['comfortable', 'dense']} onChange={(it) => setPreferences({ rows: it })} />
        <Choice label="Times" value={zone} values={['local', 'UTC']} onChange={(it) => setPreferences({ zone: it })} />
        <a href={`${home.api}/docs`}>API documents</a>
        <button type="button" onClick={() => void leave()}>
          Sign out
        </button>
      </div>
    </>
  );
}

function Choice<T extends string>(props: { label: string; value: T; values: readonly T[]; onChange: (value: T) => void }) {
  return (
    <label className={styles.choice}>
      {props.label}
      <select value={props.value} onChange={(event) => props.onChange(event.target.value as T)}>
        {props.values.map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
    </label>
  );
}

function useSignOutOfOtherTabs(): void {
  const navigate = useNavigate();
  const next = useRouterState({ select: ({ location }) => location.href });
  useEffect(() => onSignedOut(() => void navigate({ to: '/sign-in', search: { next } })), [navigate, next]);
}
