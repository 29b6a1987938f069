import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import type { SourceRow } from '../../shared/datasets/experimentRow.ts';
import type { RowReader, RowsOfRun } from '../../shared/datasets/rowsOfRun.ts';
import { rememberedRows } from '../../shared/experiments/rememberedRows.ts';

const ROWS = 40;
const CHARACTERS_PER_ROW = 1_000;

const runOf = (experimentId: string, versionIndex?: number) =>
  ({
    experimentId,
    source: versionIndex === undefined ? { kind: 'run' } : { kind: 'dataset', datasetId: 'set', versionIndex },
  }) as RowsOfRun;

const rowOf = (run: RowsOfRun, ordinal: number): SourceRow => ({
  rowId: `${run.source.kind === 'dataset' ? run.source.versionIndex : run.experimentId} ${ordinal}`,
  ordinal,
  input: 'x'.repeat(CHARACTERS_PER_ROW / 2),
  expected: null,
  metadata: {},
  generatedOutput: null,
  variables: {},
});

/** Rows of every run, with what was asked of them. */
function source() {
  const asked: string[] = [];
  const page = async (run: RowsOfRun, from: number, to: number) => {
    asked.push(`${run.experimentId} ${from}-${to}`);
    const length = Math.max(0, Math.min(to, ROWS) - from);
    return Array.from({ length }, (_, step) => rowOf(run, from + step));
  };
  const ids: RowReader['ids'] = async (run, from, to) => (await page(run, from, to)).map(({ rowId }) => rowId);
  return { asked, page, ids };
}

const runs = [runOf('one'), runOf('two'), runOf('three', 1), runOf('four', 1), runOf('five', 2)];
const aRange = fc.record({
  run: fc.constantFrom(...runs),
  from: fc.nat(ROWS + 5),
  length: fc.nat(20),
});

describe('rows that are remembered', () => {
  test.prop([fc.array(aRange, { maxLength: 60 }), fc.integer({ min: 1, max: 60 })])(
    'are those of the store, however many are kept',
    async (ranges, kept) => {
      const rows = source();
      const remembered = rememberedRows(rows, kept * CHARACTERS_PER_ROW);
      for (const { run, from, length } of ranges)
        expect(await remembered.page(run, from, from + length)).toEqual(await source().page(run, from, from + length));
    },
  );

  it('are not read again, by whatever part of them is asked for, nor for another run over the same version', async () => {
    const rows = source();
    const remembered = rememberedRows(rows);
    const [one, , three, four, five] = runs as [RowsOfRun, RowsOfRun, RowsOfRun, RowsOfRun, RowsOfRun];
    for (const run of [one, three]) {
      await remembered.page(run, 0, 20);
      await remembered.page(run, 5, 20);
      await remembered.page(run, 0, 1);
    }
    await remembered.page(four, 3, 9);
    expect(rows.asked).toEqual(['one 0-20', 'three 0-20']);
    await remembered.page(five, 3, 9);
    expect(rows.asked.at(-1)).toBe('five 3-9');
  });

  it('make room for newer ones', async () => {
    const rows = source();
    const remembered = rememberedRows(rows, 20 * 2 * CHARACTERS_PER_ROW);
    const [one] = runs as [RowsOfRun];
    await remembered.page(one, 0, 20);
    await remembered.page(one, 20, 40);
    await remembered.page(one, 25, 40);
    await remembered.page(one, 0, 1);
    expect(rows.asked).toEqual(['one 0-20', 'one 20-40', 'one 0-1']);
  });
});
