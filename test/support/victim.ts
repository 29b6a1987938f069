import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '../../shared/identifiers/ids.ts';
import type { Neighbour } from './worstThings.ts';

const EVERY_MS = 300;
/** A call that has not answered by then counts as an error. */
const CALL_MS = 60_000;

/** Times and errors of a caller who logged a trace and searched it, again and again. */
export interface Met {
  /** Milliseconds of each call. */
  took: number[];
  /** Calls without an answer, answers that are errors, and traces that were not found. */
  errors: string[];
}

/** Logs a trace and searches it, every 0.3 s until the signal. No call is repeated. */
export async function logAndSearch(caller: Neighbour, signal: AbortSignal): Promise<Met> {
  const met: Met = { took: [], errors: [] };
  while (!signal.aborted) {
    const next = performance.now() + EVERY_MS;
    await oneTrace(caller, met);
    await pause(Math.max(0, next - performance.now()), undefined, { signal }).catch(() => undefined);
  }
  return met;
}

/** Logs one trace and searches it. */
export async function oneTrace(caller: Neighbour, met: Met): Promise<void> {
  const id = newId();
  const at = `/projects/${caller.project}/traces`;
  await call(caller, at, { log_stream_id: caller.stream, traces: [{ id, input: 'What is 6 times 7?', output: '42' }] }, met);
  const filters = [{ type: 'id', column_id: 'id', operator: 'eq', value: id }];
  const found = await call(caller, `${at}/search`, { log_stream_id: caller.stream, filters }, met);
  if (found !== undefined && !found.includes(id)) met.errors.push('the trace was not found');
}

async function call({ url, apiKey }: Neighbour, path: string, body: object, met: Met): Promise<string | undefined> {
  const start = performance.now();
  try {
    const response = await fetch(`${url}/v2${path}`, {
      method: 'POST',
      headers: { 'Service-API-Key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_MS),
    });
    const text = await response.text();
    if (response.status === 200) return text;
    met.errors.push(`${response.status} ${text.slice(0, 200)}`);
  } catch (err) {
    met.errors.push(err instanceof Error ? `${err.name}: ${err.message}` : String(err));
  } finally {
    met.took.push(performance.now() - start);
  }
  return undefined;
}
