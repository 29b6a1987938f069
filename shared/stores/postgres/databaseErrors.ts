import { diskProblem } from '../../disk/diskProblem.ts';
import { RequestInvalid, ServiceError } from '../../errors/errors.ts';

/** Postgres' `query_canceled`. */
export const ENDED_BY_SERVER = '57014';

/** Nothing was heard of a statement in its time; what became of it is not known. */
export const isSilent = (err: unknown): err is Error => err instanceof Error && err.message === 'Query read timeout';

/** Class 08 and 57P: the server went away; 08P01 is a statement that it cannot read, our own fault. 22021/22P05: text that Postgres cannot hold (NUL). 22003: a number outside the column's range. */
export function rethrow(err: unknown): never {
  const code = (err as { code?: unknown }).code;
  const disk = err instanceof Error ? diskProblem(err) : undefined;
  if (disk && (typeof code !== 'string' || /^(53|58|XX|E)/.test(code))) throw unavailable(err, `cannot store anything: ${disk}`);
  if (typeof code === 'string') {
    if (code === '22021' || code === '22P05')
      throw new RequestInvalid([
        {
          ...{ loc: ['body'], msg: 'text must not contain the NUL character (\\u0000)', type: 'string_nul' },
          named: { texts: ['\u0000'], isPart: true },
        },
      ]);
    if (code === '22003')
      throw new RequestInvalid([
        { loc: ['body'], msg: 'a number is outside the range that can be stored', type: 'number_range' },
      ]);
    if (code === '40001' || code === '40P01')
      throw new ServiceError('Unavailable', 'another change of the same things came in between: try again', {
        cause: err,
        retryAfterSeconds: 1,
      });
    if (
      (code.startsWith('08') && code !== '08P01') ||
      code.startsWith('57P') ||
      code.startsWith('28') || // it does not let us in, since a password was changed, say
      code.startsWith('53') || // disk full, out of memory, too many connections
      code === ENDED_BY_SERVER || // the statement ran into a time limit, or was cancelled by hand
      code === '58030' || // the disk failed
      code === '25006' || // only read: a standby that is not the primary yet
      /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EPIPE|EHOST|ENET)/.test(code)
    )
      throw unavailable(err);
  } else if (
    isSilent(err) ||
    (err instanceof Error &&
      /timeout exceeded when trying to connect|Connection terminated|connection error and is not queryable/.test(err.message))
  ) {
    throw unavailable(err);
  }
  throw err instanceof ServiceError ? err : withoutValues(err);
}

export const unavailable = (cause: unknown, what = 'does not answer'): ServiceError =>
  new ServiceError('Unavailable', `the metadata store (Postgres) ${what}: try again`, { cause, retryAfterSeconds: 2 });

/** An error of the driver carries the bound values of its statement, and may quote one in its message: no log may hold them. */
function withoutValues(err: unknown): unknown {
  if (!(err instanceof Error)) return err;
  for (const key of ['params', 'detail', 'where']) Reflect.deleteProperty(err, key);
  const quoted = /: ".*"$/s;
  if (quoted.test(err.message)) {
    const message = err.message.replace(quoted, ': (a value)');
    if (err.stack) err.stack = err.stack.replace(err.message, message);
    err.message = message;
  }
  return err;
}

/** True when `err` is Postgres' unique violation, of `constraint` where one is named. */
export function isUniqueViolation(err: unknown, constraint?: string): boolean {
  const { code, constraint: violated } = err as { code?: unknown; constraint?: unknown };
  return code === '23505' && (constraint === undefined || violated === constraint);
}

export const messageOf = (err: unknown): string => (err instanceof Error ? err.message || err.name : String(err));
