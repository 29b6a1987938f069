import type { Attempt } from './modelCall.ts';

/** Tries of a call that its span lists; waiting for a busy endpoint is not bounded. */
const MAX_LISTED_TRIES = 100;

/** The outcome of each try of a call, in the metadata of its span. The only try of a call that succeeded is the span itself. */
export function triesOf(attempts: readonly Attempt[]): Record<string, string> {
  if (attempts.length <= 1 && attempts.every(({ outcome }) => outcome === 'ok')) return {};
  const listed = attempts.slice(-MAX_LISTED_TRIES).map(({ startedAt, endedAt, outcome, status, waited }) => ({
    started_at: new Date(startedAt).toISOString(),
    ended_at: new Date(endedAt).toISOString(),
    outcome,
    ...(status === undefined ? {} : { status }),
    ...(waited === undefined ? {} : { waited }),
  }));
  return { tries: String(attempts.length), attempts: JSON.stringify(listed) };
}
