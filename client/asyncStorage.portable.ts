/** The part of AsyncLocalStorage that the client uses. */
interface Storage<T> {
  getStore(): T | undefined;
  run<R>(store: T, work: () => R): R;
  enterWith(store: T): void;
}

interface Runtime {
  AsyncLocalStorage?: new <T>() => Storage<T>;
  process?: { getBuiltinModule?(name: string): Pick<Runtime, 'AsyncLocalStorage'> | undefined };
}

/**
 * A browser follows no asynchronous flow: the store lasts for the synchronous part of `work`, so that calls which interleave never see each
 * other's. What begins after an `await` has to name its parent.
 */
class SynchronousStorage<T> implements Storage<T> {
  private store: T | undefined;

  getStore(): T | undefined {
    return this.store;
  }

  run<R>(store: T, work: () => R): R {
    const outer = this.store;
    this.store = store;
    try {
      return work();
    } finally {
      this.store = outer;
    }
  }

  enterWith(store: T): void {
    this.store = store;
  }
}

const runtime = globalThis as Runtime;

/** That of the runtime where it has one: edge runtimes give it as a global or as a built-in module. */
export const AsyncLocalStorage: new <T>() => Storage<T> =
  runtime.AsyncLocalStorage ?? runtime.process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage ?? SynchronousStorage;
