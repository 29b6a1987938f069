import { Link } from '@tanstack/react-router';
import type { StartAddress } from '../address/startAddress.ts';
import { useMay } from '../data/permissions.ts';
import styles from './StartLink.module.css';

interface Props {
  projectId: string;
  search: StartAddress;
  label: string;
  isPrimary?: boolean;
}

/** Leads to the form that starts an experiment. It is not there for who may start none. */
export function StartLink({ projectId, search, label, isPrimary = false }: Props) {
  if (!useMay(projectId, 'create_run')) return null;
  return (
    <Link
      to="/p/$projectId/experiments/new"
      params={{ projectId }}
      search={search}
      className={`${styles.link} ${isPrimary ? styles.primary : ''}`}
    >
      {label}
    </Link>
  );
}
