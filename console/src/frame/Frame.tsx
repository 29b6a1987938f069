import { useIsFetching, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { home } from '../address/home.ts';
import { useProjectName } from '../data/projectName.ts';
import { currentUserQuery } from '../data/projects.ts';
import { Icon } from '../parts/Icon.tsx';
import { setPreferences, usePreferences } from '../parts/preferences.ts';
import { onSignedOut, signOut } from '../session/session.ts';
import { ConnectionBanner } from './ConnectionBanner.tsx';
import styles from './Frame.module.css';
import { Helpers } from './Helpers.tsx';
import { PageLinks } from './PageLinks.tsx';
import { UndoBar } from './UndoBar.tsx';
import { useProjectId } from './useProjectId.ts';

/** The frame around every page: place, account and preferences. */
export function Frame() {
  const projectId = useProjectId();
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
        <div className={styles.where}>{projectId !== undefined && <ProjectName projectId={projectId} />}</div>
        <PageLinks projectId={projectId} />
        <Helpers />
        <Busy />
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

/** Moves while an answer is waited for. By itself, since nothing else of the frame changes with each question. */
function Busy() {
  const isBusy = useIsFetching() > 0;
  return <span className={styles.busy} data-busy={isBusy} aria-hidden="true" />;
}

function ProjectName({ projectId }: { projectId: string }) {
  const name = useProjectName(projectId);
  return (
    <>
      <span className="quiet" aria-hidden="true">
        /
      </span>
      <Link to="/p/$projectId/records" params={{ projectId }} search={{}} className="one-line">
        {name ?? '…'}
      </Link>
    </>
  );
}

function PreferencesMenu() {
  const { data: user } = useQuery(currentUserQuery);
  const { theme, rows, zone, keys } = usePreferences();
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
        <Choice label="Keys" value={keys} values={['on', 'off']} onChange={(it) => setPreferences({ keys: it })} />
        <Link to="/settings/integrations" onClick={() => document.getElementById('preferences')?.hidePopover()}>
          Settings
        </Link>
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
  const router = useRouter();
  useEffect(
    () =>
      onSignedOut(() => {
        const { href, pathname } = router.state.location;
        // Another answer may come on the way to the sign-in, which would then lead back to itself.
        if (!pathname.endsWith('/sign-in')) void router.navigate({ to: '/sign-in', search: { next: href } });
      }),
    [router],
  );
}
