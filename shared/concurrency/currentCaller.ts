import { AsyncLocalStorage } from 'node:async_hooks';

const callers = new AsyncLocalStorage<string | undefined>();

/** The account for which the current work is done; undefined for what the service does by itself. */
export const currentCaller = (): string | undefined => callers.getStore();

/** Does work for an account, with all that it starts. @param caller undefined: the work is the service's own, or that of many callers */
export const onBehalfOf = <T>(caller: string | undefined, work: () => T): T => callers.run(caller, work);
