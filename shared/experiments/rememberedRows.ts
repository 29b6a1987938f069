import { LRUCache } from 'lru-cache';
import type { SourceRow } from '../datasets/experimentRow.ts';
import type { RowReader, RowsOfRun } from '../datasets/rowsOfRun.ts';
import { rowBytes } from './rowBytes.ts';

/** Characters of all rows that are kept: some 5,000 rows of 3 KB. */
const MAX_CHARACTERS = 16_000_000;
/** Characters of a page that is made of remembered rows. */
const PAGE_CHARACTERS = 8_000_000;

/**
 * Keeps rows that were read lately for the next reader: a row is offered to the caller's process, leased to it, recorded and scored within seconds,
 * and each of them asks for it. What a run's rows are never changes. A page of which a row is missing is read whole.
 */
export function rememberedRows(source: RowReader, maxCharacters = MAX_CHARACTERS): RowReader {
  const known = new LRUCache<string, SourceRow>({ maxSize: maxCharacters, sizeCalculation: rowBytes });
  return {
    async page(run, from, to) {
      const rows: SourceRow[] = [];
      let size = 0;
      for (let at = from; at < to && size < PAGE_CHARACTERS; at++) {
        const row = known.get(`${sourceOf(run)} ${at}`);
        if (!row) {
          const read = await source.page(run, from, to);
          for (const [index, one] of read.entries()) known.set(`${sourceOf(run)} ${from + index}`, one);
          return read;
        }
        rows.push(row);
        size += rowBytes(row);
      }
      return rows;
    },
    async ids(run, from, to) {
      const ids: string[] = [];
      for (let at = from; at < to; at++) {
        const row = known.get(`${sourceOf(run)} ${at}`);
        if (!row) return source.ids(run, from, to);
        ids.push(row.rowId);
      }
      return ids;
    },
  };
}

const sourceOf = ({ source, experimentId, selectedRows }: RowsOfRun): string => {
  if (selectedRows) return selectedRows.storageId;
  return source.kind === 'dataset' ? `${source.datasetId} ${source.versionIndex}` : experimentId;
};
