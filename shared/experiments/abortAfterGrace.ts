/** Milliseconds between two looks at whether what is in flight is to be given up. */
const LOOK_MS = 500;

/**
 * Aborts when what is in flight is to be given up: so many milliseconds after `stopping` as `graceMs` says. That is asked again and again, as a pause
 * that waits may turn into a cancel.
 * @returns the signal, and what ends the asking
 */
export function abortAfterGrace(
  stopping: AbortSignal,
  graceMs: () => Promise<number | undefined>,
): { signal: AbortSignal; end(): void } {
  const givenUp = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  let at = Number.POSITIVE_INFINITY;
  const look = async () => {
    const grace = await graceMs().catch(() => undefined);
    if (grace !== undefined) at = Math.min(at, Date.now() + grace);
    if (ended) return;
    if (Date.now() >= at) givenUp.abort(new Error('what was in flight was given up'));
    else timer = setTimeout(look, Math.min(LOOK_MS, Math.max(0, at - Date.now())));
  };
  const onStopping = () => void look();
  stopping.addEventListener('abort', onStopping, { once: true });
  if (stopping.aborted) onStopping();
  return {
    signal: givenUp.signal,
    end() {
      ended = true;
      clearTimeout(timer);
      stopping.removeEventListener('abort', onStopping);
    },
  };
}
