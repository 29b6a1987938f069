/** The version of a record that is written now. */
export interface VersionNow {
  /** Microseconds since 1970, or more. */
  version: number;
  /** The same in the canonical form of times. */
  at: string;
}

/** Versions rise with every record written, whatever the machine's clock does. */
export class VersionClock {
  readonly #now: () => Date;
  #last = 0;

  constructor(now: () => Date) {
    this.#now = now;
  }

  next(): VersionNow {
    this.#last = Math.max(this.#last + 1, this.#now().getTime() * 1000);
    return { version: this.#last, at: timeOfMicroseconds(this.#last) };
  }
}

let lastMs = Number.NaN;
let lastText = '';

/** Microseconds since 1970 in the canonical form of times. Thousands in a row share their millisecond, whose text is kept. */
function timeOfMicroseconds(micros: number): string {
  const ms = Math.floor(micros / 1000);
  if (ms !== lastMs) {
    lastMs = ms;
    lastText = new Date(ms).toISOString().slice(0, -1);
  }
  return `${lastText}${String(micros - ms * 1000).padStart(3, '0')}Z`;
}
