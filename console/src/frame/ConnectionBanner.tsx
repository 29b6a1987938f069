import { onlineManager } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import styles from './Frame.module.css';

/** Is there as long as the browser has no network or the service does not answer; questions wait, and are asked when it is back. */
export function ConnectionBanner() {
  const online = useSyncExternalStore(
    (listener) => onlineManager.subscribe(listener),
    () => onlineManager.isOnline(),
  );
  if (online) return null;
  return (
    <p role="status" className={styles.banner}>
      The connection is lost. What you see is from before; the rest is loaded when it is back.
    </p>
  );
}
