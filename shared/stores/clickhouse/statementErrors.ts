import { parseError } from '@clickhouse/client';
import { diskProblem } from '../../disk/diskProblem.ts';
import { ServiceError } from '../../errors/errors.ts';

// https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
const tooExpensive = new Set([
  'TIMEOUT_EXCEEDED',
  'TOO_SLOW',
  'MEMORY_LIMIT_EXCEEDED',
  'TOO_MANY_ROWS',
  'TOO_MANY_BYTES',
  'TOO_MANY_ROWS_OR_BYTES',
  'TOO_BIG_AST',
  'TOO_DEEP_AST',
  'QUERY_IS_TOO_LARGE',
]);
/** Names the limit that a statement exceeded, other than its time, and the remedy. */
const limitOf: Readonly<Record<string, [limit: string, help: string]>> = {
  MEMORY_LIMIT_EXCEEDED: ['memory', 'narrow its filters or sort by created_at'],
  TOO_MANY_ROWS_OR_BYTES: ['result', 'ask for fewer records at a time, or for fewer columns'],
  TOO_BIG_AST: ['size', 'send fewer filters and values'],
  TOO_DEEP_AST: ['size', 'send fewer filters and values'],
  QUERY_IS_TOO_LARGE: ['size', 'send fewer filters and values'],
};
const busy = new Set([
  'TOO_MANY_PARTS',
  'TOO_MANY_SIMULTANEOUS_QUERIES',
  'SERVER_OVERLOADED',
  'CANNOT_SCHEDULE_TASK',
  'CANNOT_ALLOCATE_MEMORY',
]);
/** The engine throws these when the system does not let it use a file; the message has the reason. */
const ofFiles = new Set([
  'NOT_ENOUGH_SPACE',
  'CANNOT_OPEN_FILE',
  'CANNOT_CLOSE_FILE',
  'CANNOT_CREATE_DIRECTORY',
  'CANNOT_CREATE_FILE',
  'CANNOT_READ_FROM_FILE_DESCRIPTOR',
  'CANNOT_WRITE_TO_FILE_DESCRIPTOR',
  'CANNOT_SEEK_THROUGH_FILE',
  'CANNOT_TRUNCATE_FILE',
  'CANNOT_FSYNC',
  'CANNOT_STAT',
  'CANNOT_STATVFS',
  'CANNOT_UNLINK',
  'CANNOT_LINK',
  'CANNOT_RENAME',
  'ATOMIC_RENAME_FAIL',
  'PATH_ACCESS_DENIED',
]);
/** Errors of the standard library and of the system, whose message alone says what they are about. */
const ofSystem = new Set(['STD_EXCEPTION', 'SYSTEM_ERROR', 'POCO_EXCEPTION']);
/** The server, or one that it needs, is away, restarts or does not take writes at the moment. */
const away = new Set([
  'KEEPER_EXCEPTION',
  'NO_ZOOKEEPER',
  'TABLE_IS_READ_ONLY',
  'NETWORK_ERROR',
  'SOCKET_TIMEOUT',
  'ALL_CONNECTION_TRIES_FAILED',
  'ATTEMPT_TO_READ_AFTER_EOF',
  'UNEXPECTED_END_OF_FILE',
  'ABORTED',
  'QUERY_WAS_CANCELLED',
  'S3_ERROR',
  'TOO_FEW_LIVE_REPLICAS',
  'UNKNOWN_STATUS_OF_INSERT',
]);
/** A value does not fit its column: no repetition helps. */
const refused = new Set([
  'CANNOT_PARSE_TEXT',
  'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
  'CANNOT_PARSE_QUOTED_STRING',
  'CANNOT_PARSE_ESCAPE_SEQUENCE',
  'CANNOT_PARSE_NUMBER',
  'CANNOT_PARSE_DATETIME',
  'CANNOT_PARSE_DATE',
  'CANNOT_PARSE_UUID',
  'CANNOT_PARSE_BOOL',
  'INCORRECT_DATA',
  'TYPE_MISMATCH',
  'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE',
  'DECIMAL_OVERFLOW',
  'TOO_DEEP_RECURSION',
  'TOO_LARGE_STRING_SIZE',
]);
/** The system's words for a process that gets no more memory; the engine has no error type for it. */
const noMemory = /std::bad_alloc|Cannot allocate memory/i;
/** A proxy in front of the server answers one of these in its place. */
const ofProxy = /^\s*$|Bad Gateway|Service (Temporarily )?Unavailable|Gateway Time-?out/i;

/** A failure of the engine as the client's own `ClickHouseError` with `code` and `type`, as a server's would be; any other as it is. */
export function clickHouseError(err: unknown): unknown {
  if (!(err instanceof Error) || 'type' in err) return err;
  const parsed = parseError(err.message);
  return parsed.constructor === Error ? err : Object.assign(parsed, { cause: err });
}

/**
 * Turns an error that a caller can act on into a ServiceError; any other error is our own fault and stays as it is.
 * The engine's text never reaches a message, because it may hold values.
 */
export function asServiceError(err: unknown, name: string): unknown {
  if (!(err instanceof Error)) return err;
  // The client has a class for each of its builds, so what counts are the fields.
  const { type, code } = err as { type?: unknown; code?: unknown };
  if (typeof type === 'string') {
    const engineIsFull = type === 'MEMORY_LIMIT_EXCEEDED' && !err.message.startsWith('Query memory');
    if (busy.has(type) || engineIsFull || noMemory.test(err.message)) {
      return new ServiceError('Unavailable', 'the record store is overloaded; try again', { cause: err, retryAfterSeconds: 2 });
    }
    const disk = ofFiles.has(type) || ofSystem.has(type) ? diskProblem(err) : undefined;
    if (disk || ofFiles.has(type)) return cannotWrite(err, disk);
    if (away.has(type)) return unavailable(err);
    if (!tooExpensive.has(type)) return err;
    const [limit, help] = limitOf[type] ?? ['time', 'narrow its filters or sort by created_at'];
    return overLimit(name, limit, help, err);
  }
  // More than the longest text that the process can hold.
  if (code === 'ERR_STRING_TOO_LONG' || /invalid string length/i.test(err.message))
    return overLimit(name, 'result', 'ask for fewer records at a time, or for fewer columns', err);
  const disk = diskProblem(err);
  if (disk) return cannotWrite(err, disk);
  const unreachable =
    // The last ones are those of a process without memory and of the embedded engine.
    /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EPIPE|EHOST|ENET|ENOMEM|CHDB_)/.test(String(code)) ||
    noMemory.test(err.message) ||
    /Timeout error|socket hang up|is closed|other side closed|terminated|premature close/i.test(err.message) ||
    (code === undefined && ofProxy.test(err.message));
  return unreachable ? unavailable(err) : err;
}

/** Returns the error of an insert that the engine refuses for good because of a value; undefined for other errors. */
export function refusedValue(err: unknown): ServiceError | undefined {
  const { type } = err as { type?: unknown };
  if (typeof type !== 'string' || !refused.has(type)) return undefined;
  return new ServiceError('BadRequest', `the record store refuses a value (${type})`, { cause: err });
}

const overLimit = (query: string, limit: string, help: string, cause: unknown) =>
  new ServiceError('QueryTooExpensive', `the query ran into its ${limit} limit; ${help}`, { context: { query, limit }, cause });

const cannotWrite = (cause: unknown, why = 'its files cannot be used') =>
  new ServiceError('Unavailable', `the record store cannot store anything: ${why}; try again`, { cause, retryAfterSeconds: 2 });

export const unavailable = (cause: unknown) =>
  new ServiceError('Unavailable', 'the record store does not answer; try again', { cause, retryAfterSeconds: 2 });
