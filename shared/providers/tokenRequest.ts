import { AttemptFailure, connectionFailure } from './failures.ts';

const TIMEOUT_MS = 30_000;

export interface TokenReply {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Sends a form to the server that issues credentials for calls.
 * @param who names it in failures
 * @throws AttemptFailure
 */
export async function postTokenForm(
  fetchGuarded: typeof fetch,
  who: string,
  { url, body, headers }: { url: string; body: string; headers: Readonly<Record<string, string>> },
): Promise<TokenReply> {
  try {
    const response = await fetchGuarded(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (err) {
    if ((err as Error).name === 'TimeoutError')
      throw new AttemptFailure('timeout', `${who} did not answer within ${TIMEOUT_MS / 1_000} s`, { retry: true });
    throw connectionFailure(who, err);
  }
}
