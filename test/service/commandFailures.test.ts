import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '../../cli/terminal/exitCodes.ts';
import { assay } from '../support/assay.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';
import { typedIn } from '../support/typedIn.ts';

let service: TestService;
let project: TestProject;
beforeAll(async () => {
  service = await sharedTestService();
  project = await service.project();
});
afterAll(() => service[Symbol.asyncDispose]());

const rows = (count: number) => JSON.stringify(Array.from({ length: count }, (_, index) => ({ input: String(index) })));

test('run and watch say why rows failed: each reason with its count and three of the rows', async () => {
  const typed = typedIn(service, project, {
    'flaky.mjs': `export default { dataset: ${rows(8)}, concurrency: 1, pauseAfterFailures: 0, function(input) {
      if (Number(input) < 5) throw new Error('no answer after ' + (5000 + Number(input)) + ' ms');
      if (Number(input) < 7) throw new Error('not found');
      return input;
    } };`,
  });
  const { exitCode, stdout } = await assay(['run', 'flaky.mjs'], typed);
  expect(exitCode).toBe(exitCodes.done);
  const shown = stdout.slice(stdout.indexOf('Why ')).replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'ID');
  expect(shown).toContain(`Why 7 rows failed:
  5 × Error: no answer after <n> ms
      row 0, trace ID  Error: no answer after 5000 ms
      row 1, trace ID  Error: no answer after 5001 ms
      row 2, trace ID  Error: no answer after 5002 ms
  2 × Error: not found
      row 5, trace ID
      row 6, trace ID
See one: assay logs show ID --project-id ID`);
  const watched = await assay(['watch', 'flaky'], typed);
  expect(watched.stdout).toContain('  5 × Error: no answer after <n> ms\n      row 0, trace ');
  const asJson = await assay(['watch', 'flaky', '--json'], typed);
  expect(JSON.parse(asJson.stdout).failures).toEqual([
    {
      reason: 'Error: no answer after <n> ms',
      count: 5,
      examples: [0, 1, 2].map((row) => ({
        ...{ row, trial: 0, message: `Error: no answer after ${5_000 + row} ms` },
        trace_id: expect.stringMatching(/^[\da-f-]{36}$/),
      })),
    },
    {
      reason: 'Error: not found',
      count: 2,
      examples: [expect.objectContaining({ row: 5 }), expect.objectContaining({ row: 6 })],
    },
  ]);
});

test('a run of which all rows failed has a status of its own, and one that pauses says why as well', async () => {
  const definition = (more: string) =>
    `export default { dataset: ${rows(4)}, concurrency: 1, trials: 2, ${more}, function() { throw new Error('no luck'); } };`;
  const typed = typedIn(service, project, {
    'luckless.mjs': definition('pauseAfterFailures: 0'),
    'paused.mjs': definition('pauseAfterFailures: 2'),
  });
  const all = await assay(['run', 'luckless.mjs'], typed);
  expect([all.exitCode, all.stdout]).toEqual([
    exitCodes.allRowsFailed,
    expect.stringMatching(/Why 8 rows failed:\n {2}8 × Error: no luck\n {6}row 0, trace \S+\n {6}row 1, trace /),
  ]);
  const watched = await assay(['watch', 'luckless', '--json'], typed);
  expect([watched.exitCode, JSON.parse(watched.stdout).failures[0].count]).toEqual([exitCodes.allRowsFailed, 8]);
  const paused = await assay(['run', 'paused.mjs'], typed);
  expect([paused.exitCode, paused.stderr]).toEqual([exitCodes.runPaused, expect.stringMatching(/× Error: no luck\n +row 0/)]);
});

test('a run without a failed row says nothing of reasons', async () => {
  const typed = typedIn(service, project, {
    'good.mjs': `export default { dataset: ${rows(2)}, function: (input) => input };`,
  });
  const { exitCode, stdout } = await assay(['run', 'good.mjs', '--json'], typed);
  expect([exitCode, JSON.parse(stdout).failures]).toEqual([exitCodes.done, []]);
});
