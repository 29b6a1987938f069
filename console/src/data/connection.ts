import { onlineManager } from '@tanstack/react-query';
import { home } from '../address/home.ts';

/** Milliseconds between two looks for a service that does not answer, and that each may take. */
const PAUSE_MS = 1_500;
const ANSWER_MS = 5_000;

let isLooking = false;

/** Says whether the service answers. */
const answers = (): Promise<boolean> =>
  fetch(new URL('healthcheck', home.service), { cache: 'no-store', signal: AbortSignal.timeout(ANSWER_MS) }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Says that the connection failed. As long as the service does not answer, questions wait; then they go on by themselves. */
export async function connectionFailed(): Promise<void> {
  if (isLooking) return;
  isLooking = true;
  while (!(await answers())) {
    onlineManager.setOnline(false);
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  isLooking = false;
  onlineManager.setOnline(true);
}
