import type { ExperimentProgress } from '../client/index.ts';

const WIDTH = 30;

/** Shows how far a run is: one line that is drawn anew on a terminal, a line for each change elsewhere. */
export class ProgressLine {
  private readonly name: string;
  private readonly out: NodeJS.WriteStream;
  private shown = '';

  constructor(name: string, out: NodeJS.WriteStream) {
    this.name = name;
    this.out = out;
  }

  show(progress: ExperimentProgress): void {
    const line = progressText(this.name, progress);
    if (line === this.shown) return;
    this.shown = line;
    this.out.write(this.out.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
  }

  end(): void {
    if (this.out.isTTY && this.shown !== '') this.out.write('\n');
  }
}

export function progressText(name: string, { rows_done, rows_total, scores_done, scores_total }: ExperimentProgress): string {
  const filled = rows_total === 0 ? 0 : Math.round((WIDTH * rows_done) / rows_total);
  const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
  return `${name.padEnd(16)} ${bar} ${rows_done}/${rows_total} rows, ${scores_done}/${scores_total} scores`;
}
