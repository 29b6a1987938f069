import type { ExperimentRow, ExperimentRun } from './experiment.ts';
import { rowBytes } from './rowBytes.ts';
import type { RowSourceReader } from './rowLog.ts';

/** Characters of all rows that are kept: some 5,000 rows of 3 KB. */
const MAX_CHARACTERS = 16_000_000;
/** Of a page that is made of remembered rows. */
const PAGE_CHARACTERS = 8_000_000;

/**
 * Rows that were read lately, kept for whoever asks next: a row is offered to the caller's process, leased to it, recorded and scored within seconds,
 * and each of them asks for it. What a run's rows are never changes. A page of which a row is missing is read whole.
 */
export function rememberedRows(source: RowSourceReader, maxCharacters = MAX_CHARACTERS): RowSourceReader {
  // In the order in which they were read: the first is the oldest.
  const known = new Map<string, ExperimentRow>();
  let characters = 0;
  const keep = (key: string, row: ExperimentRow): void => {
    const before = known.get(key);
    if (before) characters -= rowBytes(before);
    known.delete(key);
    known.set(key, row);
    characters += rowBytes(row);
    for (const [oldest, old] of known) {
      if (characters <= maxCharacters) break;
      known.delete(oldest);
      characters -= rowBytes(old);
    }
  };
  return {
    async page(run, from, to) {
      const rows: ExperimentRow[] = [];
      let size = 0;
      for (let ordinal = from; ordinal < to && size < PAGE_CHARACTERS; ordinal++) {
        const row = known.get(`${sourceOf(run)} ${ordinal}`);
        if (!row) {
          const read = await source.page(run, from, to);
          for (const one of read) keep(`${sourceOf(run)} ${one.ordinal}`, one);
          return read;
        }
        rows.push(row);
        size += rowBytes(row);
      }
      return rows;
    },
    async ids(run, from, to) {
      const ids: string[] = [];
      for (let ordinal = from; ordinal < to; ordinal++) {
        const row = known.get(`${sourceOf(run)} ${ordinal}`);
        if (!row) return source.ids(run, from, to);
        ids.push(row.rowId);
      }
      return ids;
    },
  };
}

const sourceOf = ({ source, experimentId }: ExperimentRun): string =>
  source.kind === 'dataset' ? `${source.datasetId} ${source.versionIndex}` : experimentId;
