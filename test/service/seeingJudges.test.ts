import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { fails, type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt } from '../support/runs.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

const LONG = 120_000;
const image = (content: string): string => `data:image/png;base64,${Buffer.from(content).toString('base64')}`;
const [asked, given] = [image('asked'), image('given')];
const model = `eyes-${newId().slice(0, 8)}`;

let service: TestService;
let endpoint: ModelEndpoint;
let projectId: string;
beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  await modelAt(service.client, `of-${model}`, endpoint.url, [model]);
  projectId = (await service.project()).id;
}, LONG);
beforeEach(() => {
  endpoint.requests.length = 0;
  endpoint.otherwise(says('{"explanation": "so it is", "verdict": true}'));
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

const send = <T = { id: string }>(path: string, body: object): Promise<T> => service.client.send<T>(path, { body });

/** Returns the verdict of a scorer with these settings on a trace with these texts, and the request that its judge received. */
async function judged(trace: { input: string | object[]; output: string }, scorer: object, version: object = {}) {
  const { id } = await send('/scorers', { name: newId(), scorer_type: 'llm', output_type: 'boolean', ...scorer });
  const asking = { user_prompt: 'Does the picture fit?', model_name: model, scoreable_node_types: ['trace'] };
  await send(`/scorers/${id}/version/llm`, { ...asking, ...version });
  const { id: log_stream_id } = await send(`/projects/${projectId}/log_streams`, { name: newId() });
  await send(`/projects/${projectId}/traces`, { log_stream_id, traces: [trace], is_complete: true });
  await send(`/projects/${projectId}/recompute-metrics`, { log_stream_id, scorer_ids: [id] });
  const found = async () => {
    const { records } = await send<{
      records: { metric_info?: Record<string, { status_type: string; value?: unknown; message?: string }> }[];
    }>(`/projects/${projectId}/traces/search`, { log_stream_id });
    const { status_type: status, value, message } = records[0]?.metric_info?.[id] ?? {};
    return { status, value, message };
  };
  await expect
    .poll(async () => (await found()).status, { timeout: LONG, interval: 300 })
    .toMatch(/^(success|failed|error|not_applicable)$/);
  const messages = (endpoint.requests.at(-1)?.body.messages ?? []) as { role: string; content: unknown }[];
  return { ...(await found()), content: messages.find(({ role }) => role === 'user')?.content };
}

/** A picture that is uploaded, and what a judge is sent of it. */
async function uploaded(): Promise<{ part: { type: 'file'; file_id: string }; url: string }> {
  const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const form = new FormData();
  form.set('file', new File([bytes], 'cat.png'));
  const { file_id } = await service.client.send<{ file_id: string }>(`/projects/${projectId}/upload_file`, { form });
  return { part: { type: 'file', file_id }, url: `data:image/png;base64,${bytes.toString('base64')}` };
}

const vision = { multimodal_capabilities: ['vision'] };
const ofImage = (url: string) => ({ type: 'image_url', image_url: { url } });

describe('a judge of yours', { timeout: LONG }, () => {
  const trace = { input: `Draw this: ${asked}`, output: `Here: ${given}` };

  test('that sees is sent the images of the record, and its texts name them', async () => {
    const { value, content } = await judged(trace, vision);
    const text = expect.stringMatching(/Draw this: \(image 1\)[\s\S]*Here: \(image 2\)/);
    expect([value, content]).toEqual([true, [{ type: 'text', text }, ofImage(asked), ofImage(given)]]);
  });

  test('that sees is sent an uploaded image in place of its id, and is asked about a deleted one by the texts alone', async () => {
    const { part, url } = await uploaded();
    const withFile = { input: [{ type: 'text', text: 'What is this?' }, part], output: `Like ${given}` };
    const { value, content } = await judged(withFile, vision);
    const text = expect.stringMatching(/"file_id":\s*\\?"\(image 1\)[\s\S]*Like \(image 2\)/);
    expect([value, content]).toEqual([true, [{ type: 'text', text }, ofImage(url), ofImage(given)]]);
    await service.client.send(`/projects/${projectId}/files/${part.file_id}`, { method: 'DELETE' });
    const without = await judged({ ...withFile, output: 'a cat' }, vision);
    expect([without.value, without.content]).toEqual([true, expect.stringContaining(part.file_id)]);
  });

  test('that a log stream asks about records with images alone is asked about those', async () => {
    const { part } = await uploaded();
    const { id } = await send('/scorers', { name: newId(), scorer_type: 'llm', output_type: 'boolean', ...vision });
    await send(`/scorers/${id}/version/llm`, { user_prompt: 'Is it a cat?', model_name: model, scoreable_node_types: ['trace'] });
    const { id: log_stream_id } = await send(`/projects/${projectId}/log_streams`, { name: newId() });
    const filters = [{ name: 'modality', operator: 'eq', value: 'image' }];
    await service.client.send(`/projects/${projectId}/log_streams/${log_stream_id}/metric_settings`, {
      ...{ method: 'PATCH', body: { scorers: [{ id, scorer_type: 'llm', filters }] } },
    });
    const traces = [
      { input: 'a text', output: 'none' },
      { input: [part], output: 'a cat' },
    ];
    await send(`/projects/${projectId}/traces`, { log_stream_id, traces, is_complete: true });
    const values = async () => {
      const { records } = await send<{ records: { output: string; metric_info: Record<string, { value?: unknown }> }[] }>(
        `/projects/${projectId}/traces/search`,
        { log_stream_id },
      );
      return Object.fromEntries(records.map(({ output, metric_info }) => [output, metric_info[id]?.value]));
    };
    await expect.poll(values, { timeout: LONG, interval: 300 }).toEqual({ 'a cat': true, none: undefined });
    expect(endpoint.requests).toHaveLength(1);
  });

  test('that is shown the output alone is sent the images of the output alone', async () => {
    const { content } = await judged(trace, vision, { input_type: 'trace_output_only' });
    expect(content).toEqual([{ type: 'text', text: expect.stringContaining('Here: (image 1)') }, ofImage(given)]);
  });

  test('that does not see is asked about texts, and so is one that sees where there is no image', async () => {
    expect((await judged(trace, {})).content).toEqual(expect.stringContaining(given));
    const { value, content } = await judged({ input: 'q', output: 'a' }, vision);
    expect([value, content]).toEqual([true, expect.stringContaining('Does the picture fit?')]);
  });

  test('has no value where its model takes no images, and says what its endpoint answers', async () => {
    endpoint.otherwise(fails(400, { error: { message: 'this model takes no images' } }));
    const { status, message } = await judged(trace, vision);
    expect([status, message]).toEqual(['failed', expect.stringMatching(/^the judge could not be asked: .*400/)]);
  });
});
