import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ExperimentRow, ExperimentRun } from '../../shared/experiments/experiment.ts';
import { RowMemory } from '../../shared/experiments/rowMemory.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { moduleRunner } from '../../workers/runners/module.ts';

const MODULE = `
  export default async (input) => {
    // Pieces of 8 MB: smaller ones take long where the processors are busy with other work.
    if (input === 'eats') for (const kept = []; ; ) kept.push(new Array(1_000_000).fill(0));
    if (input === 'loops') for (;;);
    return input;
  };`;

test.each([
  ['eat memory', 'eats', 240_000, "the runner's process died 3 times on this row"],
  ['loop', 'loops', 10_000, 'the row took longer than its time limit of 10000 ms'],
])('rows that %s cost only themselves', async (_, hungry, rowTimeLimitMs, reason) => {
  const folder = await mkdtemp(join(tmpdir(), 'assay-hungry-'));
  const path = join(folder, 'hungry.mjs');
  await writeFile(path, MODULE);
  const run = { experimentId: newId(), name: 'r', projectId: newId(), settings: { rowTimeLimitMs } } as ExperimentRun;
  const runner = moduleRunner(run, path, { env: process.env }, 64);
  const signal = new AbortController().signal;
  const context = {
    attempt: 1,
    signal,
    stopping: signal,
    waiting: () => () => undefined,
    confirm: async () => undefined,
    memory: new RowMemory(1).open(),
  };
  const row = (input: string, ordinal: number) =>
    ({
      rowId: newId(),
      ...{ ordinal, sourceOrdinal: ordinal, trial: 0 },
      input,
      expected: null,
      metadata: {},
      generatedOutput: null,
      variables: { input },
    }) as ExperimentRow;
  try {
    const results = await Promise.all(['a', hungry, 'b', 'c'].map((input, at) => runner.run(row(input, at), context)));
    expect(results.map(({ output, error }) => output ?? error)).toEqual(['a', reason, 'b', 'c']);
  } finally {
    await runner.close();
    await rm(folder, { recursive: true });
  }
});
