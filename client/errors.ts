/** A parameter is missing or wrong; nothing was sent. */
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

  constructor(message: string, details: { status: number; errorCode?: number | undefined; requestId?: string | undefined; body?: unknown }) {
    super(message);
    this.status = details.status;
    this.errorCode = details.errorCode;
    this.requestId = details.requestId;
    this.body = details.body;
  }
}

/** 404: what was named does not exist, or is not visible to the caller. `errorCode` 3520: the experiment group is not in the project. */
export class NotFoundError extends HttpStatusError {
  override name = 'NotFoundError';
}

/** The service could not be reached at all. */
export class ConnectionError extends Error {
  override name = 'ConnectionError';
}
