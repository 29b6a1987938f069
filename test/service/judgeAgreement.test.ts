import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { sharedTestService } from '../support/sharedService.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
let projectId: string;
let streamId: string;
let queueId: string;
const templates: Record<'thumbs' | 'stars' | 'words' | 'texts' | 'never', string> = {
  ...{ thumbs: '', stars: '', words: '', texts: '', never: '' },
};

// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes; a wrong guess fails the test
type Body = any;
const post = async (path: string, body: object): Promise<Body> => {
  const answer = await service.request('POST', path, body);
  expect([answer.status, answer.body]).toEqual([200, answer.body]);
  return answer.body;
};

/** The judges' values and the people's ratings of each record; undefined where there is none. */
const rows: {
  polite?: boolean;
  grade?: number;
  share?: number;
  tone?: string;
  thumb?: boolean;
  stars?: number;
  word?: string;
}[] = [
  { polite: true, grade: 5, share: 1, tone: 'Warm', thumb: true, stars: 5, word: 'warm' },
  { polite: true, grade: 4, share: 0.75, tone: 'cold', thumb: true, stars: 5, word: 'cold' },
  { polite: true, grade: 3, share: 0.5, tone: 'warm', thumb: false, stars: 3, word: 'warm' },
  { polite: false, grade: 1, share: 0, tone: 'flat', thumb: false, stars: 1, word: 'cold' },
  { polite: false, grade: 2, share: 0.25, tone: 'cold', thumb: true, stars: 4, word: 'cold' },
  { polite: false, grade: 2, share: 0.25, tone: 'cold', thumb: false },
  { polite: true, grade: 5, share: 1, tone: 'warm' },
  { thumb: true, stars: 2 },
];
const ids = rows.map(() => newId());

beforeAll(async () => {
  [service, endpoint] = await Promise.all([sharedTestService(), startModelEndpoint()]);
  projectId = (await service.project()).id;
  streamId = (await post(`/projects/${projectId}/log_streams`, { name: 'rated' })).id;
  const traces = rows.map(({ polite, grade, share, tone }, index) => ({
    ...{
      id: ids[index],
      name: `trace ${index}`,
      input: 'q',
      output: polite ? 'please' : 'no',
      created_at: `2026-03-01T12:00:0${index}Z`,
    },
    metrics: { polite, grade, share, tone },
  }));
  await post(`/projects/${projectId}/traces`, { log_stream_id: streamId, traces, is_complete: true });
  queueId = (await post('/annotation_queues', { name: `queue ${newId()}` })).id;
  for (const [name, constraints] of [
    ['thumbs', { annotation_type: 'like_dislike' }],
    ['stars', { annotation_type: 'star' }],
    ['words', { annotation_type: 'choice', choices: ['Warm', 'Cold'] }],
    ['texts', { annotation_type: 'text' }],
    ['never', { annotation_type: 'like_dislike' }],
  ] as const) {
    const [{ id }] = await post(`/annotation_queues/${queueId}/templates`, { template: { name, constraints } });
    templates[name] = id;
  }
  await post(`/annotation_queues/${queueId}/records`, {
    ...{ project_id: projectId, run_id: streamId, record_selector: { type: 'record_ids', record_ids: ids } },
  });
  const rate = async (index: number, name: keyof typeof templates, rating: object) => {
    const path = `/annotation_queues/${queueId}/records/${ids[index]}/rating?annotation_template_id=${templates[name]}`;
    expect((await service.request('PUT', path, { rating })).status).toBe(200);
  };
  for (const [index, { thumb, stars, word }] of rows.entries()) {
    if (thumb !== undefined) await rate(index, 'thumbs', { annotation_type: 'like_dislike', value: thumb });
    if (stars !== undefined) await rate(index, 'stars', { annotation_type: 'star', value: stars });
    if (word !== undefined) await rate(index, 'words', { annotation_type: 'choice', value: word === 'warm' ? 'Warm' : 'Cold' });
  }
  await rate(0, 'texts', { annotation_type: 'text', value: 'nice' });
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

const agreement = (metric: string, more: object = {}) =>
  post(`/projects/${projectId}/judge_agreement`, { log_stream_id: streamId, metric, ...more });
const by = async (name: keyof typeof templates, metric: string, more: object = {}): Promise<Body> => {
  const { agreements } = await agreement(metric, { template_ids: [templates[name]], ...more });
  expect(agreements).toHaveLength(1);
  return agreements[0];
};

test('thumbs and a judge that says yes or no', async () => {
  // Yes and yes 2, yes and no 1, no and yes 1, no and no 2: 4/6 agree, 1/2 would by chance.
  const found = await agreement('polite', { queue_id: queueId });
  expect(found).toMatchObject({ metric: 'metrics/polite', records: 8, with_value: 7, is_cut: false });
  expect(found.agreements.map((one: Body) => one.template_name)).toEqual(['thumbs', 'stars', 'words', 'texts', 'never']);
  expect(found.agreements[0]).toMatchObject({
    ...{ labels: ['yes', 'no'], pairs: 6, judge_only: 1, people_only: 1, undecided: 0, unreadable: 0, reason: null },
    table: [
      [2, 1],
      [1, 2],
    ],
    ...{
      observed_agreement: expect.closeTo(4 / 6, 12),
      expected_agreement: 0.5,
      kappa: expect.closeTo(1 / 3, 12),
      weighted: null,
    },
    rule: 'true of the judge is yes; a thumb up is yes',
  });
  expect(found.agreements[0].interval).toMatchObject({ level: 0.95 });
  expect(found.agreements[0].disagreements).toEqual(
    expect.arrayContaining([
      { record_id: ids[2], judged_record_id: ids[2], judge: 'yes', people: 'no' },
      { record_id: ids[4], judged_record_id: ids[4], judge: 'no', people: 'yes' },
    ]),
  );
});

test('stars and a judge that says yes or no, by a stated threshold', async () => {
  expect(await by('stars', 'polite')).toMatchObject({
    ...{
      people_threshold: 4,
      judge_threshold: null,
      pairs: 5,
      judge_only: 2,
      people_only: 1,
      rule: expect.stringMatching(/4 stars or more are yes/),
    },
    table: [
      [2, 1],
      [1, 1],
    ],
  });
  expect((await by('stars', 'polite', { people_threshold: 3 })).table).toEqual([
    [3, 0],
    [1, 1],
  ]);
});

describe('numbers', () => {
  test('of a known range are laid on the stars, and nearness counts', async () => {
    const scorer = await post('/scorers', {
      ...{ name: `share ${newId()}`, scorer_type: 'llm', output_type: 'percentage', project_ids: [projectId] },
    });
    await post(`/scorers/${scorer.id}/version/llm`, { user_prompt: 'How polite is {{output}}?', output_type: 'percentage' });
    await post(`/projects/${projectId}/traces`, {
      log_stream_id: streamId,
      traces: rows.flatMap(({ share }, index) =>
        share === undefined ? [] : [{ id: ids[index], metrics: { [scorer.id]: share } }],
      ),
    });
    const found = await by('stars', scorer.id);
    // Stars of the judge 5, 4, 3, 1, 2 and of people 5, 5, 3, 1, 4.
    expect(found).toMatchObject({
      is_ordered: true,
      labels: ['1', '2', '3', '4', '5'],
      pairs: 5,
      observed_agreement: expect.closeTo(0.6, 12),
    });
    expect(found.table[3]).toEqual([0, 0, 0, 0, 1]);
    expect(found.table[1]).toEqual([0, 0, 0, 1, 0]);
    expect(found.weighted.observed_agreement).toBeCloseTo(1 - (1 / 16 + 4 / 16) / 5, 12);
    expect(found.weighted.kappa).toBeGreaterThan(found.kappa);
  });

  test('of no known range need a threshold, which the answer says', async () => {
    expect(await by('stars', 'grade')).toMatchObject({ kappa: null, reason: expect.stringMatching(/range/), rule: null });
    expect(await by('thumbs', 'grade')).toMatchObject({ kappa: null, reason: expect.stringMatching(/judge_threshold/) });
    expect(await by('thumbs', 'grade', { judge_threshold: 3 })).toMatchObject({
      pairs: 6,
      judge_threshold: 3,
      kappa: expect.closeTo(1 / 3, 12),
    });
  });
});

test('words in any case of letters, with those of one side alone', async () => {
  expect(await by('words', 'tone')).toMatchObject({
    ...{ labels: ['Warm', 'Cold', 'flat'], pairs: 5 },
    table: [
      [2, 0, 0],
      [0, 2, 0],
      [0, 1, 0],
    ],
  });
});

test('kappa is null, with the reason, where it says nothing', async () => {
  expect(await by('texts', 'polite')).toMatchObject({ kappa: null, pairs: 0, reason: expect.stringMatching(/free texts/) });
  expect(await by('never', 'polite')).toMatchObject({
    kappa: null,
    observed_agreement: null,
    reason: expect.stringMatching(/^no record/),
    judge_only: 7,
  });
  const filters = [{ type: 'boolean', column_id: 'metrics/polite', operator: 'eq', value: true }];
  expect(await by('thumbs', 'polite', { filters })).toMatchObject({
    ...{ pairs: 3, kappa: null, interval: null, observed_agreement: expect.closeTo(2 / 3, 12) },
    reason: expect.stringMatching(/^the judge gave one label alone, "yes"/),
  });
});

test('samples of a try-out have the ratings of the records that they were made of', async () => {
  const model = `rater-${newId().slice(0, 8)}`;
  const integration = { endpoint: `${endpoint.url}/v1`, authentication_type: 'none', models: [model] };
  expect((await service.request('PUT', `/integrations/custom/${model}`, integration)).status).toBe(200);
  endpoint.otherwise((request, response) =>
    says(JSON.stringify({ verdict: request.text.includes('please') }))(request, response),
  );
  const tried = await post('/scorers/llm/validate/log_record', {
    ...{
      log_stream_id: streamId,
      query: '',
      response: '',
      user_prompt: 'Is {{output}} polite?',
      chain_poll_template: { template: '' },
    },
    scorer_configuration: { model_alias: model, num_judges: 1 },
  });
  const found = await post(`/projects/${projectId}/judge_agreement`, {
    ...{ metrics_testing_id: tried.metrics_experiment_id, metric: tried.metric, template_ids: [templates.thumbs] },
  });
  expect(found.agreements[0]).toMatchObject({
    table: [
      [2, 1],
      [2, 2],
    ],
    ...{ pairs: 7, judge_only: 1, people_only: 0 },
  });
  const [first] = found.agreements[0].disagreements;
  expect(ids).toContain(first.record_id);
  expect(ids).not.toContain(first.judged_record_id);
});

test('names what there is not', async () => {
  const path = `/projects/${projectId}/judge_agreement`;
  const misspelt = await service.request('POST', path, { log_stream_id: streamId, metric: 'polit' });
  expect(misspelt).toMatchObject({ status: 422, body: { detail: expect.anything() } });
  expect(JSON.stringify(misspelt.body)).toMatch(/no metric .*polit.*closest are .*polite/);
  const template = await service.request('POST', path, { log_stream_id: streamId, metric: 'polite', template_ids: [newId()] });
  expect(template).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'template_ids'] }] } });
  const queue = await service.request('POST', path, { log_stream_id: streamId, metric: 'polite', queue_id: newId() });
  expect(queue).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'queue_id'] }] } });
});
