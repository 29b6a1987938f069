import { fc, test } from '@fast-check/vitest';
import { expect } from 'vitest';
import type { SourceRow } from '../../shared/datasets/experimentRow.ts';
import type { RowReader } from '../../shared/datasets/rowsOfRun.ts';
import type { ExperimentRow, ExperimentRun } from '../../shared/experiments/experiment.ts';
import { rowsOfTrials } from '../../shared/experiments/rowsOfTrials.ts';
import { rowTraceId } from '../../shared/experiments/rowTrace.ts';

test.prop([
  fc.integer({ min: 1, max: 12 }),
  fc.integer({ min: 1, max: 5 }),
  fc.integer({ min: 1, max: 30 }),
  fc.integer({ min: 1, max: 30 }),
])(
  'every row comes once in each trial, trial by trial, however many are read at a time',
  async (rows, trials, asked, perPage) => {
    const run = { experimentId: 'e', rowCount: rows * trials, trials } as ExperimentRun;
    const stored = Array.from({ length: rows }, (_, ordinal) => ({ rowId: `row ${ordinal}`, ordinal }) as SourceRow);
    const source: RowReader = {
      page: async (_run, from, to) => stored.slice(from, Math.min(to, from + perPage)),
      ids: async (_run, from, to) => stored.slice(from, to).map(({ rowId }) => rowId),
    };
    const reader = rowsOfTrials(source, { chosenIn: async () => [] });
    const read: ExperimentRow[] = [];
    const traceIds: string[] = [];
    while (read.length < run.rowCount) {
      const page = await reader.page(run, read.length, read.length + asked);
      expect(page.length).toBeGreaterThan(0);
      read.push(...page);
    }
    for (let from = 0; from < run.rowCount; from += asked) traceIds.push(...(await reader.traceIds(run, from, from + asked)));
    const wanted = Array.from({ length: trials }, (_, trial) =>
      stored.map(({ rowId, ordinal }) => ({ rowId, sourceOrdinal: ordinal, trial })),
    );
    expect(read).toEqual(wanted.flat().map((row, ordinal) => ({ ...row, ordinal })));
    expect(traceIds).toEqual(read.map(({ rowId, trial }) => rowTraceId('e', rowId, trial)));
    expect(await reader.page(run, run.rowCount, run.rowCount + asked)).toEqual([]);
  },
);
