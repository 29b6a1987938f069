import { currentContext, withContext } from './context.ts';
import type { Call } from './http.ts';

export interface SessionFields {
  /** Absent: the service makes one. */
  name?: string;
  /** Your id of the session. Where the log stream has a session with it, that one goes on. Absent: a random one. */
  externalId?: string;
  previousSessionId?: string;
  metadata?: Record<string, string>;
}

/** How a session may be asked for: as patiently as the request that needs its id. */
export type Patience = Pick<Call, 'retries' | 'signal' | 'timeoutMs'>;

/** Traces that belong together, say one conversation. It is stored when its first trace is. */
export class Session {
  private readonly logger: object;
  private readonly open: (patience: Patience) => Promise<string>;
  private opening: Promise<string> | undefined;

  constructor(logger: object, open: (patience: Patience) => Promise<string>) {
    this.logger = logger;
    this.open = open;
  }

  /** The id that the service gave it; stores the session where no trace of it has been sent. */
  id(patience: Patience = {}): Promise<string> {
    this.opening ??= this.open(patience).catch((err: unknown) => {
      this.opening = undefined;
      throw err;
    });
    return this.opening;
  }

  /** Traces that `work` begins belong to this session. */
  run<T>(work: () => T): T {
    return withContext(this.context(), work);
  }

  /** Returns the parts of a context that this session replaces. */
  context() {
    return { logger: this.logger, sessions: new Map(currentContext().sessions).set(this.logger, this) };
  }
}
