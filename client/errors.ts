import type { RefusedRecord } from '../shared/recordSchemas/ingest.ts';
import type { ExperimentRunResults } from './experimentRunResults.ts';

/** A parameter is missing or wrong; no experiment is left behind. `cause`: the answer of the service, where it was the one to find out. */
export class ValueError extends Error {
  override name = 'ValueError';
}

/** The service answered outside 2xx. `errorCode` is its published error number where it gave one. */
export class HttpStatusError extends Error {
  override name = 'HttpStatusError';
  readonly status: number;
  readonly errorCode: number | undefined;
  readonly requestId: string | undefined;
  /** The body of the answer, parsed where it is JSON. */
  readonly body: unknown;

  constructor(
    message: string,
    details: { status: number; errorCode?: number | undefined; requestId?: string | undefined; body?: unknown },
  ) {
    super(message);
    this.status = details.status;
    this.errorCode = details.errorCode;
    this.requestId = details.requestId;
    this.body = details.body;
  }
}

/** Records of a request that the service could not store; it has the others. */
export class RecordsRefusedError extends Error {
  override name = 'RecordsRefusedError';
  readonly count: number;
  /** The first of them, with the reason of each. */
  readonly refused: readonly RefusedRecord[];

  constructor(count: number, refused: readonly RefusedRecord[]) {
    super(`${count} records could not be stored: ${refused[0]?.message ?? 'no reason was given'}${count > 1 ? ', …' : ''}`);
    this.count = count;
    this.refused = refused;
  }
}

/** 404: what was named does not exist, or is not visible to the caller. `errorCode` 3520: the experiment group is not in the project. */
export class NotFoundError extends HttpStatusError {
  override name = 'NotFoundError';
}

/** Returns undefined for an error that says that a thing does not exist: there is no such id, or the id has no valid form. Throws any other error. */
export function noneOf(err: unknown): undefined {
  if (err instanceof HttpStatusError && (err.status === 404 || err.status === 422)) return undefined;
  throw err;
}

/** The service could not be reached at all. */
export class ConnectionError extends Error {
  override name = 'ConnectionError';
}

/** The run of an experiment failed as a whole, or was cancelled. What there is of it is in `results`. */
export class ExperimentRunError extends Error {
  override name = 'ExperimentRunError';
  readonly results: ExperimentRunResults;

  constructor(message: string, results: ExperimentRunResults) {
    super(message);
    this.results = results;
  }
}

/** Another process runs the rows of this experiment now: the same script was started again. */
export class TakenOverError extends Error {
  override name = 'TakenOverError';
}
