import { UNKNOWN } from './format.ts';
import styles from './ShareBar.module.css';

interface Props {
  label: string;
  /** From 0 to 1; null where there is nothing to take it of. */
  share: number | null;
}

/** A share as a bar and in percent. Only what is complete says 100 %. */
export function ShareBar({ label, share }: Props) {
  if (share === null) return <span className="quiet">{UNKNOWN}</span>;
  return (
    <span className={styles.share}>
      <meter aria-label={label} min={0} max={1} value={share} />
      <span className="number">{share < 1 ? Math.floor(share * 100) : 100} %</span>
    </span>
  );
}
