const PAUSE_MS = 60_000;

interface Kind {
  saidAt: number;
  /** How many were not said. */
  withheld: number;
  text: (count: number) => string;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** Says each kind of warning once a minute at most, with how many there were. */
export class RareWarnings {
  private readonly kinds = new Map<string, Kind>();
  private readonly say: (text: string) => void;

  constructor(say: (text: string) => void) {
    this.say = say;
  }

  warn(name: string, text: (count: number) => string, count = 1): void {
    const kind = this.kinds.get(name) ?? { saidAt: Number.NEGATIVE_INFINITY, withheld: 0, text, timer: undefined };
    this.kinds.set(name, kind);
    kind.withheld += count;
    kind.text = text;
    const waitMs = kind.saidAt + PAUSE_MS - performance.now();
    if (waitMs <= 0) this.sayNow(kind);
    else if (!kind.timer) {
      kind.timer = setTimeout(() => this.sayNow(kind), waitMs);
      kind.timer.unref?.(); // a browser's is a number
    }
  }

  get hasRest(): boolean {
    return [...this.kinds.values()].some(({ withheld }) => withheld > 0);
  }

  /** Says what waits: the process ends. */
  sayRest(): void {
    for (const kind of this.kinds.values()) this.sayNow(kind);
  }

  private sayNow(kind: Kind): void {
    clearTimeout(kind.timer);
    kind.timer = undefined;
    if (kind.withheld === 0) return;
    const count = kind.withheld;
    kind.withheld = 0;
    kind.saidAt = performance.now();
    this.say(kind.text(count));
  }
}
