import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { compareExperiments, createDataset, createExperiment, runExperiment } from '../../client/index.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

// The recorded answers of four models to the test set of grade-school-math, judged right or wrong: each pair of models, logged with its judgements and
// run as experiments that are scored by the service, must differ on the rows on which the judgements do.

vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

const folder = join(import.meta.dirname, '../../../shared/data/gsm8k');
const models = ['6b_finetuning', '6b_verification', '175b_finetuning', '175b_verification'] as const;
type Model = (typeof models)[number];
const pairs = models.flatMap((baseline, index) => models.slice(index + 1).map((other) => ({ baseline, other })));
const METRIC = 'is_right';

type Recorded = { question: string } & Record<Model, { solution: string; is_correct: boolean }>;

describeWithServer(
  'pairs of models over 1,319 questions',
  { name: 'data/gsm8k in the folder `shared` beside the project', path: existsSync(folder) ? folder : undefined },
  () => {
    const lines = <T>(file: string): T[] =>
      readFileSync(join(folder, file), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as T);
    const recorded = lines<Recorded>('example_model_solutions.jsonl');
    const questions = lines<{ question: string; answer: string }>('test.jsonl');
    const byQuestion = new Map(recorded.map((row) => [row.question, row]));

    let service: TestService;
    let projectId: string;
    const logged = new Map<Model, string>();
    const run = new Map<Model, string>();

    beforeAll(async () => {
      service = await sharedTestService();
      projectId = (await service.project()).id;
      const { client } = service;
      for (const model of models) {
        const { id } = await createExperiment({ client, projectId, experimentName: `logged ${model}` });
        const traces = recorded.map((row) => ({
          ...{ type: 'trace', input: row.question, output: row[model].solution },
          metrics: { [METRIC]: row[model].is_correct },
        }));
        await client.send(`/v2/projects/${projectId}/traces`, { body: { experiment_id: id, traces, is_complete: true } });
        logged.set(model, id);
      }
      const rows = questions.map(({ question, answer }) => JSON.stringify({ input: question, output: answer }));
      const dataset = await createDataset({
        client,
        projectId,
        name: 'questions to four models',
        file: new Blob([rows.join('\n')]),
        format: 'jsonl',
      });
      for (const model of models) {
        const { experiment } = await runExperiment<string, string>({
          ...{
            client,
            projectId,
            experimentName: model,
            dataset: { id: dataset.id },
            metrics: ['numeric_match'],
            concurrency: 200,
          },
          function: (question) => byQuestion.get(question)?.[model].solution ?? '',
        });
        run.set(model, experiment.id);
      }
    });
    afterAll(() => service?.[Symbol.asyncDispose]());

    test.each(pairs)('$baseline against $other', async ({ baseline, other }) => {
      const count = (of: (row: Recorded) => boolean): number => recorded.filter(of).length;
      const better = count((row) => row[other].is_correct && !row[baseline].is_correct);
      const worse = count((row) => !row[other].is_correct && row[baseline].is_correct);
      if (baseline === '6b_finetuning' && other === '175b_verification') expect([better, worse]).toEqual([499, 43]);
      const expected = {
        ...{ better, worse, same: recorded.length - better - worse, missing: 0, rows: recorded.length, test: 'mcnemar' },
        difference: expect.closeTo((better - worse) / recorded.length, 12),
        verdict: better > worse ? 'better' : 'worse',
      };
      for (const [ids, metric, by] of [
        [logged, METRIC, 'input'],
        [run, 'numeric_match', 'dataset_row'],
      ] as const) {
        const found = await compareExperiments({
          ...{ client: service.client, projectId, metrics: [metric] },
          baselineId: ids.get(baseline) as string,
          experimentIds: [ids.get(other) as string],
        });
        expect(found.experiments).toMatchObject([{ matched_by: by, matched_rows: recorded.length }]);
        expect(found.comparisons).toMatchObject([expected]);
      }
    });
  },
);
