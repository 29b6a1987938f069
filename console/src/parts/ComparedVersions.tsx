import type { ReactNode } from 'react';
import styles from './ComparedVersions.module.css';

interface Props {
  version: number;
  /** The version that it is compared with; 0 for nothing. */
  before: number;
  /** The versions that can be chosen in its place, each with its label. */
  others: readonly { version: number; label: string }[];
  onWith(version: number): void;
  onClose(): void;
  children: ReactNode;
}

/** Shows what differs between two versions, below a choice of the earlier one. */
export function ComparedVersions({ version, before, others, onWith, onClose, children }: Props) {
  const isListed = others.some((one) => one.version === before);
  return (
    <section className={styles.compared} aria-label="What changed">
      <div className={styles.between}>
        <h2>Version {version}</h2>
        <label>
          compared with{' '}
          <select value={before} onChange={(event) => onWith(Number(event.target.value))}>
            {!isListed && <option value={before}>{before < 1 ? 'nothing' : `version ${before}`}</option>}
            {others.map((one) => (
              <option key={one.version} value={one.version}>
                {one.label}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      {children}
    </section>
  );
}
