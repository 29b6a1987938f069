import { LocksLost } from './writeLocks.ts';

/** A deletion that this process is at work on: when it said so last, by the clock of the store. */
export interface AttendedDeletion {
  id: string;
  at: string;
}

export interface AttendedDeletions {
  /** Says that the deletion is still being carried out. @returns when; undefined where another process has taken it over, or finished it */
  attend(deletion: AttendedDeletion): Promise<string | undefined>;
}

/** Milliseconds between two signs that a process is at work on a deletion, and for which a sign is good without asking. */
const SIGN_MS = 3_000;
const GOOD_MS = 5_000;
/** Milliseconds after which a deletion without a sign is taken over. */
export const UNATTENDED_MS = 12_000;

/** Says from time to time that this process is at work on a deletion, until it is disposed of. One that stood still finds that another has taken it over. */
export class Attendance implements AsyncDisposable {
  readonly #requests: AttendedDeletions;
  readonly #deletion: AttendedDeletion;
  readonly #signs: NodeJS.Timeout;
  #heardAt = performance.now();
  #sign: Promise<void> = Promise.resolve();
  #isLost = false;

  constructor(requests: AttendedDeletions, deletion: AttendedDeletion) {
    this.#requests = requests;
    this.#deletion = { ...deletion };
    // A store that is away for a moment is asked again.
    this.#signs = setInterval(() => void this.#attend().catch(() => {}), SIGN_MS);
  }

  /** @throws LocksLost when another process has taken the deletion over */
  async confirm(): Promise<void> {
    if (performance.now() - this.#heardAt > GOOD_MS) await this.#attend();
    if (this.#isLost) throw new LocksLost();
  }

  /** One sign at a time: each names the one before it. */
  #attend(): Promise<void> {
    const sign = this.#sign.then(async () => {
      if (this.#isLost) return;
      const now = performance.now();
      const at = await this.#requests.attend(this.#deletion);
      if (at === undefined) this.#isLost = true;
      else {
        this.#deletion.at = at;
        this.#heardAt = now;
      }
    });
    this.#sign = sign.catch(() => {});
    return sign;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#signs);
    await this.#sign;
  }
}
