import { AsyncLocalStorage } from './asyncStorage.ts';
import { shared } from './shared.ts';
import type { SpanParent } from './spans.ts';

/** A row whose function runs, or has run. */
export interface RowInFlow {
  /** Gets what a promise that nothing awaits was rejected with. */
  onStray(reason: unknown): void;
}

/** The state of one asynchronous flow, such as the answer to one request. */
export interface Context {
  /** Where new spans belong. */
  parent?: SpanParent | undefined;
  /** The logger of the session that was entered last. */
  logger?: object | undefined;
  /** The session of each logger that has one here. */
  sessions?: ReadonlyMap<object, unknown> | undefined;
  /** The row of an experiment whose function this is. */
  row?: RowInFlow | undefined;
}

const storage = () => shared('context', () => new AsyncLocalStorage<Context>());

export const currentContext = (): Context => storage().getStore() ?? {};

/** Runs `work` in the context of its caller with these changes. */
export const withContext = <T>(changes: Context, work: () => T): T => storage().run({ ...currentContext(), ...changes }, work);

/** Changes the context of the caller from here on. */
export const enterContext = (changes: Context): void => storage().enterWith({ ...currentContext(), ...changes });

export const currentParent = (): SpanParent | undefined => currentContext().parent;

export const withParent = <T>(parent: SpanParent, work: () => T): T => withContext({ parent }, work);
