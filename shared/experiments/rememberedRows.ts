import type { ExperimentRow, ExperimentRun } from './experiment.ts';
import type { RowSourceReader } from './rowLog.ts';

/** Characters of all rows that are kept: some 5,000 rows of 3 KB. */
const MAX_CHARACTERS = 16_000_000;

/**
 * Rows that were read lately, kept for whoever asks next: a row is offered to the caller's process, leased to it, recorded and scored within seconds,
 * and each of them asks for it. What a run's rows are never changes. A range of which a row is missing is read whole.
 */
export function rememberedRows(source: RowSourceReader, maxCharacters = MAX_CHARACTERS): RowSourceReader {
  // In the order in which they were read: the first is the oldest.
  const known = new Map<string, ExperimentRow>();
  let characters = 0;
  const keep = (key: string, row: ExperimentRow): void => {
    const before = known.get(key);
    if (before) characters -= sizeOf(before);
    known.delete(key);
    known.set(key, row);
    characters += sizeOf(row);
    for (const [oldest, old] of known) {
      if (characters <= maxCharacters) break;
      known.delete(oldest);
      characters -= sizeOf(old);
    }
  };
  return {
    async range(run, from, to) {
      const keyOf = (ordinal: number) => `${sourceOf(run)} ${ordinal}`;
      const rows: ExperimentRow[] = [];
      for (let ordinal = from; ordinal < to; ordinal++) {
        const row = known.get(keyOf(ordinal));
        if (!row) {
          const read = await source.range(run, from, to);
          for (const one of read) keep(keyOf(one.ordinal), one);
          return read;
        }
        rows.push(row);
      }
      return rows;
    },
  };
}

const sourceOf = ({ source, experimentId }: ExperimentRun): string =>
  source.kind === 'dataset' ? `${source.datasetId} ${source.versionIndex}` : experimentId;

/** Roughly: texts count, and the values that were made of them as much again. */
function sizeOf({ input, expected, generatedOutput, variables }: ExperimentRow): number {
  const texts = Object.values(variables).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 50), 0);
  return 500 + 2 * input.length + (expected?.length ?? 0) + (generatedOutput?.length ?? 0) + texts;
}
