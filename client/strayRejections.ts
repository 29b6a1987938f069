import { currentContext } from './context.ts';

/**
 * Hands a rejection that nothing handles to the row in whose flow its promise was made, where Node.js would end the process and with it every other row.
 * One that belongs to no row ends the process, as without this.
 * @returns ends it
 */
export function watchStrayRejections(): () => void {
  // Elsewhere than in Node.js a rejection ends nothing.
  if (typeof globalThis.process?.prependListener !== 'function') return () => undefined;
  const onRejection = (reason: unknown) => {
    const { row } = currentContext();
    if (row) row.onStray(reason);
    else if (process.listenerCount('unhandledRejection') === 1) throw reason;
  };
  process.on('unhandledRejection', onRejection);
  return () => process.off('unhandledRejection', onRejection);
}
