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

/** What the judge of a scorer with these settings says of a trace with these texts, and what it was sent. */
async function judged(trace: { input: string; output: string }, scorer: object, version: object = {}) {
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

const vision = { multimodal_capabilities: ['vision'] };
const ofImage = (url: string) => ({ type: 'image_url', image_url: { url } });

describe('a judge of yours', { timeout: LONG }, () => {
  const trace = { input: `Draw this: ${asked}`, output: `Here: ${given}` };

  test('that sees is sent the images of the record, and its texts name them', async () => {
    const { value, content } = await judged(trace, vision);
    const text = expect.stringMatching(/Draw this: \(image 1\)[\s\S]*Here: \(image 2\)/);
    expect([value, content]).toEqual([true, [{ type: 'text', text }, ofImage(asked), ofImage(given)]]);
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
