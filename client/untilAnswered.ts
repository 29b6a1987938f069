import { ConnectionError, HttpStatusError } from './errors.ts';
import { pause } from './http.ts';

/** Milliseconds without an answer after which the waiting ends with the error. */
const MAX_AWAY_MS = 600_000;

/** Asks until `ask` gives something. A service that is away for a while, being started again, does not end the wait: its work goes on with it. */
export async function untilAnswered<T>(
  ask: () => Promise<T | undefined>,
  betweenMs: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  let answered = performance.now();
  for (;;) {
    const asked = performance.now();
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
      answered = performance.now();
    } catch (err) {
      const isAway = err instanceof ConnectionError || (err instanceof HttpStatusError && err.status >= 500);
      if (!isAway || performance.now() - answered > MAX_AWAY_MS) throw err;
    }
    // The service may wait with its answer; one that is away is not asked again and again.
    await pause(Math.max(0, asked + betweenMs - performance.now()), signal);
  }
}
