import { shared } from './shared.ts';

/** Milliseconds that an ending process gives the service: less than the 10 s after which `docker stop` kills. */
const LAST_SEND_MS = 5_000;

const signals = ['SIGTERM', 'SIGINT'] as const;

/** A sender that has data to send before the process ends. */
export interface Unsent {
  /** How much was ever added: with no more than at the last attempt, another one is of no use. */
  readonly added: number;
  /** Sends it, or gives up after so many milliseconds. Never rejects. */
  sendLast(ms: number): Promise<void>;
  /** Says what was not sent. */
  sayUnsent(): void;
}

/**
 * Sends what waits when the process ends. Listens while something waits, and no longer. When the event loop is empty and at SIGTERM and SIGINT, it
 * sends; when the process exits, it can only say what was not sent.
 */
class ExitWatch {
  private readonly waiting = new Set<Unsent>();
  private readonly tried = new WeakMap<Unsent, number>();
  private isLeaving = false;

  add(one: Unsent): void {
    if (this.waiting.size === 0) this.listen();
    this.waiting.add(one);
  }

  remove(one: Unsent): void {
    if (this.waiting.delete(one) && this.waiting.size === 0) this.stopListening();
  }

  private listen(): void {
    process.on('beforeExit', this.onBeforeExit);
    process.on('exit', this.onExit);
    // First in line: a listener of the application that was added with `once` is still to be seen.
    for (const signal of signals) process.prependListener(signal, this.onSignal);
  }

  private stopListening(): void {
    process.off('beforeExit', this.onBeforeExit);
    process.off('exit', this.onExit);
    for (const signal of signals) process.off(signal, this.onSignal);
  }

  private readonly onBeforeExit = (): void => {
    for (const one of this.waiting) {
      if (this.tried.get(one) === one.added) continue;
      this.tried.set(one, one.added);
      void one.sendLast(LAST_SEND_MS);
    }
  };

  private readonly onSignal = (signal: NodeJS.Signals): void => {
    // Node.js ends a process at a signal without a listener. Where the application listens, it decides.
    const isOurs = process.listenerCount(signal) === 1;
    const end = () => {
      this.isLeaving = false;
      if (!isOurs) return;
      process.off(signal, this.onSignal);
      process.kill(process.pid, signal);
    };
    // A second signal means that the user does not want to wait.
    if (this.isLeaving) end();
    else {
      this.isLeaving = true;
      void Promise.all([...this.waiting].map((one) => one.sendLast(LAST_SEND_MS))).then(() => {
        if (this.isLeaving) end();
      });
    }
  };

  private readonly onExit = (): void => {
    for (const one of this.waiting) one.sayUnsent();
  };
}

/** Undefined where processes do not end, as in browsers. */
export const exitWatch = (): ExitWatch | undefined =>
  typeof globalThis.process?.prependListener === 'function' ? shared('exits', () => new ExitWatch()) : undefined;
