import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runExperiment } from '../../client/index.ts';
import { CHROMIUM, type ConsoleBrowser, consoleBrowser } from '../support/consoleBrowser.ts';
import { describeWithServer } from '../support/describeWithServer.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

const program = { name: 'chromium', path: existsSync(CHROMIUM) ? CHROMIUM : undefined };
describeWithServer('the scores of a record', program, (executablePath) => {
  let service: TestService;
  let pages: ConsoleBrowser;
  beforeAll(async () => {
    service = await sharedTestService();
    pages = await consoleBrowser(executablePath, service.url);
  });
  afterAll(async () => {
    await using _service = service;
    await pages?.[Symbol.asyncDispose]();
  });

  test('each metric is one line with its value and why, also one that failed', async () => {
    const project = await service.project();
    const { experiment } = await runExperiment({
      ...{ client: service.client, projectId: project.id, experimentName: 'scored', dataset: [{ input: 'a', output: 'A' }] },
      function: (text: string) => text.toUpperCase(),
      metrics: [
        'exact_match',
        { name: 'tone', score: () => ({ score: 0.5, comment: 'calm & <b>kind</b>' }) },
        {
          name: 'broken',
          score: () => {
            throw new Error('no such luck');
          },
        },
      ],
    });
    const { body } = await service.request('POST', `/projects/${project.id}/traces/search`, { experiment_id: experiment.id });
    const [{ id }] = (body as { records: [{ id: string }] }).records;
    const page = await pages.signedIn({ key: service.apiKey });
    await page.goto(`${service.url}/console/p/${project.id}/traces/${id}`);
    const lines = page.getByRole('region', { name: 'Scores' }).getByRole('row');
    const said = async () =>
      (await lines.allInnerTexts())
        .slice(1)
        .map((line) => line.split(/\s+/).join(' ').trim())
        .sort();
    await expect.poll(said).toEqual(['broken error Error: no such luck', 'exact_match true', 'tone 0.5 calm & <b>kind</b>']);
  });
});
