/** The signals of a crash: `abort()`, which Node.js calls when the heap is exhausted, and faults of the processor. */
const crashes = ['SIGABRT', 'SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP', 'SIGSYS'] as const;

/**
 * Lets crashes end the process again. The embedded engine (chDB 3.4.0) handles these signals when it is opened: it hands them to a thread of its own,
 * which a process that embeds it does not run, and waits. A process without memory then kept its port, answered nothing and ignored SIGTERM.
 * libuv restores the default action of a signal when its last listener goes.
 */
export function endOnCrash(): void {
  const listener = () => undefined;
  for (const signal of crashes) {
    process.on(signal, listener);
    process.off(signal, listener);
  }
}
