/** A few processes, each for one piece of work at a time: work that may have brought a process down runs in one of them, alone. */
export class Cells<P extends { close(): Promise<void> }> {
  private readonly make: () => P;
  private readonly most: number;
  private readonly all: P[] = [];
  private readonly free: P[] = [];
  private readonly waiting: ((cell: P) => void)[] = [];

  /** @param most processes at a time */
  constructor(most: number, make: () => P) {
    this.most = most;
    this.make = make;
  }

  async take(): Promise<P> {
    const free = this.free.pop();
    if (free) return free;
    if (this.all.length >= this.most) return new Promise((resolve) => this.waiting.push(resolve));
    const cell = this.make();
    this.all.push(cell);
    return cell;
  }

  giveBack(cell: P): void {
    const next = this.waiting.shift();
    if (next) next(cell);
    else this.free.push(cell);
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((cell) => cell.close()));
  }
}
