import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useStanding } from '../data/permissions.ts';
import styles from './Settings.module.css';

/** The sections of the settings beside the one that is open. A section that the account has no part in has no link. */
export function SettingsLayout() {
  const { isUser } = useStanding();
  const nav = useRef<HTMLElement>(null);
  const page = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another section has another link, and more links come with the standing
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [page, isUser]);
  const active = { activeProps: { 'aria-current': 'page' } } as const;
  return (
    <div className={styles.layout}>
      <nav ref={nav} aria-label="Settings" className={styles.sections}>
        <Link to="/settings/integrations" {...active}>
          Integrations
        </Link>
        <Link to="/settings/prices" {...active}>
          Prices
        </Link>
        <Link to="/settings/projects" {...active}>
          Projects
        </Link>
        {isUser && (
          <>
            <Link to="/settings/keys" {...active}>
              API keys
            </Link>
            <Link to="/settings/users" {...active}>
              Users
            </Link>
            <Link to="/settings/groups" {...active}>
              Groups
            </Link>
          </>
        )}
        <Link to="/settings/account" {...active}>
          Your account
        </Link>
        {isUser && (
          <>
            <Link to="/settings/limits" {...active}>
              Limits
            </Link>
            <Link to="/settings/health" {...active}>
              Health
            </Link>
          </>
        )}
      </nav>
      <div className={styles.section}>
        <Outlet />
      </div>
    </div>
  );
}
