import type { Caller } from '../../shared/accounts/permissions.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { FirstLog, Made } from '../../shared/projects/firstLog.ts';

/** Things named in one answer, and characters of a name there: clients take headers of 16 KiB in all. */
const MAX_NAMED = 5;
const MAX_CHARACTERS = 100;

/**
 * The header that says what a log made: the JSON text, in ASCII, of a list of objects with `kind` (`project` or `log_stream`), `id`, `name` and, where
 * a name that was there is a character or two off, `closest`. No header where it made nothing.
 */
export function madeHeaders(made: readonly Made[]): Record<string, string> {
  if (made.length === 0) return {};
  const short = (text: string) => [...text].slice(0, MAX_CHARACTERS).join('');
  const named = made.slice(0, MAX_NAMED).map(({ kind, id, name, closest }) => ({
    ...{ kind, id, name: short(name) },
    ...(closest === undefined ? {} : { closest: short(closest) }),
  }));
  const ascii = JSON.stringify(named).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return { 'X-Service-Made': ascii };
}

/** @throws ServiceError `Forbidden` where logs of the caller make no such thing. */
export function mustMakeForLogs(firstLog: FirstLog, caller: Caller, kind: Made['kind']): void {
  const refusal = firstLog.refusal(caller, kind);
  if (refusal !== undefined) throw new ServiceError('Forbidden', refusal);
}
