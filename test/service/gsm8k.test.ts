import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWithServer } from '../support/describeWithServer.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestProject, TestService } from '../support/testService.ts';

// Real input with a known right result: the test set of grade-school-math with the recorded answers of four models and, for each, whether it was
// judged right. A stand-in endpoint answers with a model's recorded solution; the run must come to the published judgement, row by row.

const folder = join(import.meta.dirname, '../../../shared/data/gsm8k');
const models = { '6b_finetuning': 286, '6b_verification': 515, '175b_finetuning': 458, '175b_verification': 742 } as const;
type Model = keyof typeof models;
const ROWS = 1_319;

interface Recorded extends Record<Model, { solution: string; is_correct: boolean }> {
  question: string;
}

describeWithServer(
  'the recorded answers of four models to 1,319 questions',
  { name: 'data/gsm8k in the folder `shared` beside the project', path: existsSync(folder) ? folder : undefined },
  stories,
);

function stories(): void {
  const lines = <T>(file: string): T[] =>
    readFileSync(join(folder, file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as T);
  const questions = lines<{ question: string; answer: string }>('test.jsonl');
  const recorded = lines<Recorded>('example_model_solutions.jsonl');
  const byQuestion = new Map(recorded.map((row) => [row.question, row]));

  let service: TestService;
  let project: TestProject;
  let endpoint: Awaited<ReturnType<typeof startRecordedModels>>;
  let dataset: { id: string; num_rows: number; current_version_index: number };
  let versionId: string;
  let scorer: { id: string; name: string; scorer_type: string };
  let datasetRows: Map<string, string>;
  const experiments = new Map<Model, string>();

  beforeAll(async () => {
    endpoint = await startRecordedModels(byQuestion);
    service = await sharedTestService();
    project = await service.project();
    const { client } = service;
    await client.send('/integrations/custom/recorded', {
      method: 'PUT',
      body: {
        endpoint: endpoint.url,
        authentication_type: 'api_key',
        api_key_header: 'X-Model-Key',
        api_key_value: endpoint.key,
        models: Object.keys(models),
      },
    });
    const form = new FormData();
    form.set('name', 'gsm8k');
    form.set('project_id', project.id);
    const rows = questions.map(({ question, answer }, index) =>
      JSON.stringify({ input: question, output: answer, metadata: { split: 'test', line: String(index + 1) } }),
    );
    form.set('file', new Blob([rows.join('\n')]), 'gsm8k.jsonl');
    dataset = await client.send('/datasets', { method: 'POST', form, query: { format: 'jsonl' } });
    const template = await client.send<{ selected_version_id: string }>('/templates', {
      body: { name: 'gsm8k', template: [{ role: 'user', content: '{{input}}' }] },
      query: { project_id: project.id },
    });
    versionId = template.selected_version_id;
    const { scorers } = await client.send<{ scorers: (typeof scorer)[] }>('/scorers/list', {
      body: { filters: [{ name: 'name', operator: 'eq', value: 'numeric_match' }] },
    });
    scorer = scorers[0] as typeof scorer;
    datasetRows = new Map(questions.map(({ question, answer }) => [question, answer]));
  });

  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await endpoint.close();
  });

  test('the dataset holds every row', () => {
    expect(dataset).toMatchObject({ num_rows: ROWS, current_version_index: 1 });
    expect(byQuestion.size).toBe(ROWS);
  });

  const scorerConfig = () => ({ id: scorer.id, name: scorer.name, scorer_type: scorer.scorer_type });
  const settingsFor = (model: Model) => ({ model_alias: model, temperature: 0.5, max_tokens: 400 });

  /** As the Python client does: one call. */
  async function createdWithTrigger(model: Model): Promise<string> {
    const { id } = await service.client.send<{ id: string }>(`/projects/${project.id}/experiments`, {
      body: {
        name: model,
        task_type: 16,
        trigger: true,
        dataset: { dataset_id: dataset.id, version_index: dataset.current_version_index },
        prompt_template_version_id: versionId,
        prompt_settings: settingsFor(model),
        scorers: [scorerConfig()],
      },
    });
    return id;
  }

  /** As the TypeScript client does: the experiment, its metrics, then a job. */
  async function createdWithJob(model: Model): Promise<string> {
    const { client } = service;
    const dataset_ref = { dataset_id: dataset.id, version_index: dataset.current_version_index };
    const { id } = await client.send<{ id: string }>(`/projects/${project.id}/experiments`, {
      body: { name: model, task_type: 16, dataset: dataset_ref, prompt_template_version_id: versionId },
    });
    await client.send(`/projects/${project.id}/runs/${id}/scorer-settings`, { body: { run_id: id, scorers: [scorerConfig()] } });
    const job = await client.send<{ job_id: string; message: string }>('/jobs', {
      body: {
        job_name: 'playground_run',
        project_id: project.id,
        run_id: id,
        prompt_template_version_id: versionId,
        prompt_settings: settingsFor(model),
        dataset_id: dataset.id,
        scorers: [scorerConfig()],
        task_type: 16,
      },
    });
    await expect
      .poll(async () => (await client.send<{ status: string }>(`/jobs/${job.job_id}`)).status, {
        timeout: 280_000,
        interval: 250,
      })
      .toBe('completed');
    return id;
  }

  const ways = {
    '6b_finetuning': createdWithTrigger,
    '6b_verification': createdWithJob,
    '175b_finetuning': createdWithTrigger,
    '175b_verification': createdWithJob,
  };

  describe.each(Object.entries(models) as [Model, number][])('%s', (model, correct) => {
    const search = <T>(kind: 'traces' | 'spans', body: Record<string, unknown>) =>
      service.client.send<{ num_rows: number; records: T[] }>(`/v2/projects/${project.id}/${kind}/search`, {
        body: { experiment_id: experiments.get(model), pagination: { starting_token: 0, limit: 10_000 }, ...body },
      });
    const isMatch = (value: boolean) => ({
      filter: { type: 'boolean', column_id: 'metrics/numeric_match', operator: 'eq', value },
    });

    test('runs to its end', async () => {
      const began = performance.now();
      const id = await ways[model](model);
      experiments.set(model, id);
      const path = `/projects/${project.id}/experiments/${id}`;
      await expect
        .poll(
          async () =>
            (await service.client.send<{ status: { log_generation: { progress_percent: number } } }>(path)).status.log_generation
              .progress_percent,
          { timeout: 240_000, interval: 250 },
        )
        .toBe(1);
      const seconds = (performance.now() - began) / 1_000;
      console.log(`${model}: ${ROWS} rows in ${seconds.toFixed(1)} s, ${Math.round(ROWS / seconds)} rows/s`);
      expect(await service.client.send(`${path}/progress`)).toMatchObject({
        state: 'completed',
        rows_total: ROWS,
        rows_done: ROWS,
        rows_failed: 0,
        scores_done: ROWS,
      });
      expect((await service.client.send<{ aggregate_metrics: object }>(path)).aggregate_metrics).toMatchObject({
        numeric_match: correct / ROWS,
      });
    });

    test(`has ${correct} rows right, the same ones as judged`, async () => {
      const right = await search<{ input: string }>('traces', { filter_tree: isMatch(true) });
      const wrong = await search<{ input: string }>('traces', { filter_tree: isMatch(false) });
      expect([right.num_rows, wrong.num_rows]).toEqual([correct, ROWS - correct]);
      const judged = recorded.filter((row) => row[model].is_correct).map((row) => row.question);
      const questionOf = ({ input }: { input: string }) => input;
      expect(right.records.map(questionOf).sort()).toEqual(judged.sort());
      expect([...right.records, ...wrong.records].map(questionOf).sort()).toEqual([...byQuestion.keys()].sort());
    });

    test('each trace carries its row, each model call what it was asked and what it took', async () => {
      const traces = await search<Record<string, unknown>>('traces', { include_counts: true });
      const spans = await search<Record<string, unknown>>('spans', {});
      expect([traces.num_rows, spans.num_rows]).toEqual([ROWS, ROWS]);
      const calls = new Map(spans.records.map((span) => [span.trace_id, span]));
      expect(calls.size).toBe(ROWS);
      for (const trace of traces.records) {
        const question = trace.dataset_input as string;
        const { solution } = (byQuestion.get(question) as Recorded)[model];
        expect(trace).toMatchObject({
          type: 'trace',
          input: question,
          output: solution,
          dataset_output: datasetRows.get(question),
          dataset_metadata: { split: 'test', line: expect.stringMatching(/^\d+$/) },
          is_complete: true,
          status_code: 200,
          num_spans: 1,
        });
        const call = calls.get(trace.id) as { metrics: { duration_ns: number } };
        expect(call).toMatchObject({
          type: 'llm',
          model,
          temperature: 0.5,
          finish_reason: 'stop',
          input: [{ role: 'user', content: question }],
          output: { role: 'assistant', content: solution },
          metrics: {
            num_input_tokens: wordsIn(question),
            num_output_tokens: wordsIn(solution),
            num_total_tokens: wordsIn(question) + wordsIn(solution),
          },
        });
        expect(call.metrics.duration_ns).toBeGreaterThan(0);
      }
    });
  });

  test('every call came with the key, and no row was sent twice', () => {
    expect(endpoint.calls()).toEqual({ refused: 0, answered: 4 * ROWS });
  });
}

const wordsIn = (text: string): number => text.split(/\s+/).length;

/** An endpoint of the OpenAI protocol that answers a question with what the named model answered when it was recorded. */
async function startRecordedModels(answers: ReadonlyMap<string, Recorded>) {
  const key = 'recorded-models-key';
  const calls = { refused: 0, answered: 0 };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.headers['x-model-key'] !== key) {
      calls.refused++;
      answer(401, { error: { message: 'wrong key' } });
      return;
    }
    const { model, messages } = JSON.parse(text) as { model: Model; messages: { content: string }[] };
    const question = messages.at(-1)?.content ?? '';
    const content = answers.get(question)?.[model].solution;
    if (content === undefined) {
      answer(404, { error: { message: 'no such question or model' } });
      return;
    }
    calls.answered++;
    const usage = { prompt_tokens: wordsIn(question), completion_tokens: wordsIn(content) };
    answer(200, {
      id: `chatcmpl-${calls.answered}`,
      object: 'chat.completion',
      created: 1_760_000_000,
      model,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens },
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    key,
    calls: () => ({ ...calls }),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
