// A service of its own: it takes a session for idle after six seconds instead of minutes.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDataset } from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { partNamed } from '../../shared/scorers/judgeParts.ts';
import { builtinByName } from '../../shared/scorers/presets.ts';
import { judgePlaceholders } from '../../shared/wire/judgePlaceholders.ts';
import { type ModelEndpoint, says, startModelEndpoint } from '../support/modelEndpoint.ts';
import { modelAt } from '../support/runs.ts';
import { startTestService } from '../support/service.ts';
import type { TestService } from '../support/testService.ts';

let service: TestService;
let endpoint: ModelEndpoint;
beforeAll(async () => {
  [service, endpoint] = await Promise.all([startTestService({ SESSION_IDLE_SECONDS: '6' }), startModelEndpoint()]);
  await modelAt(service.client, 'judge', endpoint.url, ['judge-1']);
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await endpoint?.close();
});

test('every placeholder that prompts may have is known, those with members take a path', () => {
  for (const [name, placeholder] of Object.entries(judgePlaceholders)) {
    expect([name, partNamed(name)]).toEqual([name, expect.anything()]);
    expect([name, partNamed(`${name}.member`) !== undefined]).toEqual([name, 'hasMembers' in placeholder]);
  }
});

beforeEach(() => endpoint.otherwise(says('{"explanation": "so it is", "verdict": true}')));

const idOf = (metric: string): string => builtinByName(metric)?.scorerId as string;

// biome-ignore lint/suspicious/noExplicitAny: replies of every shape; a wrong guess fails the test
type Body = any;

const send = async (path: string, body?: unknown, method = 'POST'): Promise<Body> => {
  const { status, body: answer } = await service.request(method, path, body);
  expect(status, JSON.stringify(answer)).toBe(200);
  return answer;
};

/** A judge of ours. @returns its id */
async function judge(userPrompt: string, version: object = {}, definition: object = {}): Promise<string> {
  const { id } = await send('/v2/scorers', {
    ...{ name: `judge ${newId()}`, scorer_type: 'llm', output_type: 'boolean' },
    ...definition,
  });
  await send(`/v2/scorers/${id}/version/llm`, { user_prompt: userPrompt, ...version });
  return id;
}

/** A log stream of its own with these traces. */
async function logged(traces: object[], rest: object = {}) {
  const { id: projectId } = await service.project();
  const { id: streamId } = await send(`/v2/projects/${projectId}/log_streams`, { name: 'stream' });
  const log = (more: object[], of: object = rest) =>
    send(`/v2/projects/${projectId}/traces`, { log_stream_id: streamId, traces: more, ...of });
  if (traces.length > 0) await log(traces);
  return {
    log,
    projectId,
    streamId,
    /** Scores with these, and gives what was shown to the judge and what the records of a kind got. */
    async scored(scorerIds: string[], what = 'traces') {
      const from = endpoint.requests.length;
      const { job_ids } = await send(`/v2/projects/${projectId}/recompute-metrics`, {
        log_stream_id: streamId,
        scorer_ids: scorerIds,
      });
      await expect
        .poll(() => Promise.all(job_ids.map(async (id: string) => (await send(`/v2/jobs/${id}`, undefined, 'GET')).status)))
        .toEqual(job_ids.map(() => 'completed'));
      const prompts = endpoint.requests
        .slice(from)
        .map(({ body }) => (body.messages as { content: string }[]).map(({ content }) => content).join('\n'));
      const { records } = await send(`/v2/projects/${projectId}/${what}/search`, {
        ...{ log_stream_id: streamId, limit: 1_000, include_code_metric_metadata: true },
      });
      const infos: Body[] = records.map(({ metric_info }: Body) => metric_info ?? {});
      return { prompts, prompt: prompts.join('\n---\n'), infos, info: infos[0]?.[scorerIds[0] as string] };
    },
  };
}

const agentTrace = {
  input: 'Weather in Oslo?',
  output: 'It rains.',
  user_metadata: { plan: 'beta' },
  dataset_input: '{"city": "Oslo"}',
  dataset_output: 'Rain',
  dataset_metadata: { source: 'nrk' },
  spans: [
    {
      type: 'agent',
      name: 'planner',
      input: 'the task',
      output: 'done',
      spans: [
        {
          type: 'llm',
          name: 'choose',
          input: 'which tool?',
          output: { role: 'assistant', content: '', tool_calls: [{ id: '1', function: { name: 'weather', arguments: '{}' } }] },
          model: 'm',
          tools: [{ type: 'function', function: { name: 'weather_tool' } }],
        },
        { type: 'tool', name: 'weather', input: '{"city":"Oslo"}', output: 'rain all day' },
        { type: 'retriever', name: 'docs', input: 'Oslo', output: [{ content: 'Oslo is wet.' }, { content: 'Bring a coat.' }] },
      ],
    },
  ],
};

describe('a judge of ours', () => {
  test('is shown the steps of a trace, nested ones too', async () => {
    const { prompt, info } = await (await logged([agentTrace])).scored([await judge('Did it work?')]);
    expect(info).toMatchObject({ status_type: 'success', value: true });
    expect(prompt).toContain('name="input">\nWeather in Oslo?\n');
    expect(prompt).toContain('name="output">\nIt rains.\n');
    expect(prompt).toMatch(
      /1\. agent "planner"[\s\S]*tool "weather" \(inside "planner"\)\n {3}input: {"city":"Oslo"}\n {3}output: rain all day/,
    );
    expect(prompt).toContain('Oslo is wet.');
  });

  test('is shown the steps where they ran, as the tree has them: a tool below a call of a model stands behind it', async () => {
    const at = '2026-01-01T00:00:00.000Z';
    const call = (name: string, more: object = {}) => ({ type: 'llm', name, input: name, output: name, created_at: at, ...more });
    const below = { type: 'tool', name: 'look up', input: 'x', output: 'y', created_at: at };
    const one = await logged([
      { input: 'q', output: 'a', created_at: at, spans: [call('first', { spans: [below] }), call('second')] },
    ]);
    const { prompt } = await one.scored([await judge('Did it work?')]);
    const steps = [...prompt.matchAll(/^\d+\. (\w+ "[\w ]+")/gm)].map(([, step]) => step);
    expect(steps).toEqual(['llm "first"', 'tool "look up"', 'llm "second"']);
    const { records } = await send(`/v2/projects/${one.projectId}/traces/search`, { log_stream_id: one.streamId });
    const tree = await send(`/v2/projects/${one.projectId}/traces/${records[0].id}`, undefined, 'GET');
    expect(tree.spans.map(({ name }: Body) => name)).toEqual(['first', 'look up', 'second']);
  });

  test.each([
    ['basic', ['Weather in Oslo?', 'It rains.'], ['rain all day']],
    ['trace_io_only', ['Weather in Oslo?', 'It rains.'], ['rain all day']],
    ['trace_input_only', ['Weather in Oslo?'], ['It rains.', 'rain all day']],
    ['trace_output_only', ['It rains.'], ['Weather in Oslo?', 'rain all day']],
    ['trace_normalized', ['Weather in Oslo?', 'It rains.', 'rain all day', 'Oslo is wet.'], []],
    ['tool_spans', ['rain all day', '{"city":"Oslo"}'], ['Oslo is wet.', 'the task']],
    ['retriever_spans', ['Oslo is wet.', 'Bring a coat.'], ['rain all day']],
    ['llm_spans', ['which tool?', 'It rains.'], ['rain all day', 'Oslo is wet.']],
    ['agent_spans', ['the task'], ['rain all day']],
  ])('is shown of a trace what its input type says: %s', async (input_type, shown, hidden) => {
    const scorer = await judge('Did it work?', { input_type, scoreable_node_types: ['trace'] });
    const { prompts } = await (await logged([agentTrace])).scored([scorer]);
    expect(prompts).toHaveLength(1);
    for (const text of shown) expect(prompts[0]).toContain(text);
    for (const text of hidden) expect(prompts[0]).not.toContain(text);
  });

  test('of spans that are not there has no value', async () => {
    const scorer = await judge('Did it work?', { input_type: 'workflow_spans', scoreable_node_types: ['trace'] });
    const { prompts, info } = await (await logged([agentTrace])).scored([scorer]);
    expect(prompts).toEqual([]);
    expect(info).toMatchObject({ status_type: 'not_applicable', message: 'the record has no workflow span below it' });
  });

  test.each([
    ['{{context}}', 'Oslo is wet.', 'nothing was retrieved'],
    ['{{documents}}', 'Bring a coat.', 'nothing was retrieved'],
    ['{{tools}}', 'weather_tool', 'no model was offered tools'],
    ['{{tool_calls}}', '1. tool "weather"', 'no tool was called'],
    ['{{spans}}', '1. agent "planner"', 'the record has no span below it'],
    ['{{transcript}}', 'Turn 1\nuser: Weather in Oslo?\nassistant: It rains.', undefined],
    ['{{metadata}}', '"plan": "beta"', 'the record has no metadata'],
    ['{{metadata.plan}}', '\nbeta\n', 'the metadata has no "plan"'],
    ['{{dataset_metadata.source}}', '\nnrk\n', 'the dataset metadata has no "source"'],
    ['{{dataset_input}}', '{"city": "Oslo"}', 'the row has no input'],
    ['{{dataset_input.city}}', '\nOslo\n', 'the dataset input has no "city"'],
    ['{{dataset_output}}', '\nRain\n', 'the row has no reference output'],
  ])('that asks for %s is shown it, and has no value of a record without it', async (placeholder, shown, lacking) => {
    const scorer = await judge(`Is it right by ${placeholder}?`, { input_type: 'trace_io_only' });
    const { prompts, info } = await (await logged([agentTrace])).scored([scorer]);
    expect(info).toMatchObject({ status_type: 'success' });
    expect(prompts[0]).toContain(shown);
    expect(prompts[0]).not.toContain('{{');
    if (lacking === undefined) return;
    const bare = await (await logged([{ input: 'q', output: 'a' }])).scored([scorer]);
    expect(bare.prompts).toEqual([]);
    expect(bare.info).toMatchObject({ status_type: 'not_applicable', message: lacking });
  });

  test('is shown members of the input as they are written', async () => {
    const input = `{"long": "${'x'.repeat(200_000)}", "order": {"id": 9007199254740993, "price": 1.50}, "items": [{"n": 1e2}, null], "none": " "}`;
    const scorer = await judge('Right for {{input.order.id}} at {{input.order.price}}, {{input.order}}, {{input.items.0}}?');
    const { prompt } = await (await logged([{ input, output: 'a' }])).scored([scorer]);
    expect(prompt).toContain('name="input: order.id">\n9007199254740993\n');
    expect(prompt).toContain('name="input: order.price">\n1.50\n');
    expect(prompt).toContain('name="input: order">\n{"id":9007199254740993,"price":1.50}\n');
    expect(prompt).toContain('name="input: items.0">\n{"n":1e2}\n');
    for (const path of ['items.1', 'none', 'order.no', 'toString', 'order.id.rawJSON']) {
      const lacking = await judge(`Right for {{input.${path}}}?`);
      const { prompts, info } = await (await logged([{ input, output: 'a' }])).scored([lacking]);
      expect(prompts).toEqual([]);
      expect(info).toMatchObject({ status_type: 'not_applicable', message: `the input has no "${path}"` });
    }
  });

  test('of a span sees the reference and the metadata of its trace', async () => {
    const scorer = await judge('Is {{output}} like {{expected}} for {{metadata.plan}}?', { scoreable_node_types: ['agent'] });
    const byFlag = await judge('Is it right?', { scoreable_node_types: ['agent'] }, { ground_truth: true });
    const { prompts, infos } = await (await logged([agentTrace])).scored([scorer, byFlag], 'spans');
    expect(prompts).toHaveLength(2);
    for (const prompt of prompts) expect(prompt).toContain('name="reference answer">\nRain\n');
    expect(prompts.join()).toContain('\nbeta\n');
    for (const prompt of prompts) expect(prompt).toContain('tool "weather" (inside "planner")');
    expect(infos.flatMap((one) => one[scorer] ?? [])).toMatchObject([{ status_type: 'success' }]);
  });

  test('is not shown a single model call that only repeats the output', async () => {
    const spans = [{ type: 'llm', name: 'answer', input: 'q', output: 'It rains.', model: 'm' }];
    const { prompt } = await (await logged([{ input: 'q', output: 'It rains.', spans }])).scored([await judge('Right?')]);
    expect(prompt.split('It rains.')).toHaveLength(2);
  });
});

test('a metric of model calls compares what the model said with the reference of the trace', async () => {
  const spans = ['Rain', 'Sun'].map((output, index) => ({
    ...{ type: 'llm', name: `call ${index}`, input: 'q', output, model: 'm', created_at: `2026-01-01T00:00:0${index}Z` },
  }));
  const { streamId, projectId } = await logged([{ input: 'q', output: 'a', dataset_output: 'Rain', spans }]);
  await send(`/v2/projects/${projectId}/runs/${streamId}/scorer-settings`, {
    run_id: streamId,
    scorers: [{ id: idOf('exact_match'), scorer_type: 'preset', scoreable_node_types: ['llm'] }],
  });
  const { job_ids } = await send(`/v2/projects/${projectId}/recompute-metrics`, {
    ...{ log_stream_id: streamId, scorer_ids: [idOf('exact_match')] },
  });
  await expect.poll(async () => (await send(`/v2/jobs/${job_ids[0]}`, undefined, 'GET')).status).toBe('completed');
  const { records } = await send(`/v2/projects/${projectId}/spans/search`, { log_stream_id: streamId });
  const values = Object.fromEntries(records.map(({ name, metric_info }: Body) => [name, metric_info.exact_match.value]));
  expect(values).toEqual({ 'call 0': true, 'call 1': false });
});

describe('a judge of the rows of a dataset', () => {
  const rows = [
    { question: 'Capital of Norway?', topic: 'north', output: 'Oslo' },
    { question: 'Capital of Spain?', topic: 'south', output: 'Madrid' },
    { question: 'Capital of Italy?', topic: 'south', output: 'Rome' },
  ];

  /** Runs them, each answered by a model, and gives what was shown to these judges. */
  async function judged(scorers: object[], run: object = {}, content: typeof rows | { question: string }[] = rows) {
    const { id: projectId } = await service.project();
    const dataset = await createDataset({ client: service.client, projectId, name: `rows ${newId()}`, content });
    const { selected_version_id } = await send('/v2/templates', {
      ...{ name: `template ${newId()}`, template: 'Answer {{question}}', settings: { model_alias: 'judge-1' } },
    });
    endpoint.otherwise((request, response) =>
      says(request.text.includes('impartial evaluator') ? '{"explanation": "so", "verdict": true}' : 'It is so.')(
        request,
        response,
      ),
    );
    const from = endpoint.requests.length;
    const at = `/v2/projects/${projectId}/experiments`;
    const { id } = await send(at, { name: `e ${newId()}`, scorers, dataset: { dataset_id: dataset.id, version_index: 1 } });
    await send(`${at}/${id}/run`, {
      runner: {
        ...{ kind: 'prompt_template', prompt_template_version_id: selected_version_id },
        prompt_settings: { model_alias: 'judge-1' },
      },
      ...run,
    });
    await expect.poll(async () => (await send(`${at}/${id}/progress?wait_ms=10000`, undefined, 'GET')).state).toBe('completed');
    const texts = endpoint.requests
      .slice(from)
      .map(({ body }) => (body.messages as { content: string }[]).map(({ content }) => content));
    return texts
      .map((of) => of.join('\n'))
      .filter((text) => text.includes('impartial evaluator'))
      .sort();
  }

  test('without a column input sees the values of the row, and never its reference as what was asked', async () => {
    const prompts = await judged([{ id: idOf('instruction_adherence'), scorer_type: 'preset' }]);
    expect(prompts).toHaveLength(3);
    for (const { question } of rows) expect(prompts.filter((text) => text.includes(question))).toHaveLength(1);
    for (const prompt of prompts) expect(prompt).not.toMatch(/Oslo|Madrid|Rome/);
  });

  test.each([['trace'], ['llm']])('sees the columns that its prompt asks for, of a %s', async (kind) => {
    const scorer = await judge('Is {{output}} right about {{dataset.topic}}, {{ dataset.question }}?', {
      ...{ scoreable_node_types: [kind], input_type: 'basic' },
    });
    const prompts = await judged([{ id: scorer, scorer_type: 'llm' }], { rows: { ordinals: [0, 2] } });
    expect(prompts).toHaveLength(2);
    expect(prompts.map((text) => /name="dataset row: topic">\n(.*)\n/.exec(text)?.[1]).sort()).toEqual(['north', 'south']);
    expect(prompts.map((text) => /name="dataset row: question">\n(.*)\n/.exec(text)?.[1]).sort()).toEqual([
      'Capital of Italy?',
      'Capital of Norway?',
    ]);
  });

  test('whose only column is its input is asked for by the name of that column, too', async () => {
    const scorer = await judge('Is {{output}} right about {{input.question}}?', { input_type: 'basic' });
    const prompts = await judged([{ id: scorer, scorer_type: 'llm' }], {}, [{ question: 'Capital of Peru?' }]);
    expect(prompts.map((text) => /name="input: question">\n(.*)\n/.exec(text)?.[1])).toEqual(['Capital of Peru?']);
  });
});

describe('what is too long', () => {
  test('is cut, and the judge and the score say so', async () => {
    const huge = { input: `begin ${'i'.repeat(400_000)} end`, output: 'short' };
    const { prompt, info } = await (await logged([huge])).scored([await judge('Right?')]);
    expect(prompt.length).toBeLessThan(120_000);
    expect(prompt).toMatch(/name="input">\nbegin i+\n… \(300010 characters left out\) …\ni+ end\n/);
    expect(prompt).toContain('- "input": the first and the last 50000 of 400010 characters');
    const cut = { input: 'the first and the last 50000 of 400010 characters' };
    expect(info).toMatchObject({ status_type: 'success', metadata: { cut } });
    const { prompt: ofBuiltin, infos } = await (await logged([huge])).scored([idOf('correctness')]);
    expect(ofBuiltin.length).toBeLessThan(120_000);
    expect(infos[0].correctness).toMatchObject({ metadata: { cut } });
  });

  test('is cut in traces with spans of megabytes and in traces of thousands of spans', async () => {
    const text = 'x'.repeat(2_000_000);
    const large = Array.from({ length: 4 }, (_, index) => ({ type: 'tool', name: `large ${index}`, input: 'in', output: text }));
    const many = Array.from({ length: 10_000 }, (_, index) => ({
      type: 'tool',
      name: `t${index}`,
      input: 'in',
      output: `o${index}.`,
    }));
    const flow = idOf('agent_flow');
    for (const [spans, cut] of [
      [large, 'the first 4000 characters of 4 texts'],
      [many, '200 of 10000 steps'],
    ] as const) {
      const { prompts, infos } = await (await logged([{ input: 'q', output: 'a', spans }])).scored([flow]);
      expect(prompts).toHaveLength(1);
      expect(prompts[0]?.length).toBeLessThan(250_000);
      expect(prompts[0]).toContain(`- "steps": ${cut}`);
      expect(infos[0].agent_flow).toMatchObject({ status_type: 'success' });
    }
  });
});

describe('a session', () => {
  const turn = (input: string, output: string | null, spans: object[] = []) => ({ input, output, spans });
  const talk = { session_external_id: 'talk' };
  const agentMetrics = ['agentic_session_success', 'agentic_workflow_success', 'agent_efficiency', 'agent_flow'];

  /** Switches metrics on for the sessions of a stream. */
  const enable = ({ projectId, streamId }: { projectId: string; streamId: string }, scorers: object[]) =>
    send(`/v2/projects/${projectId}/runs/${streamId}/scorer-settings`, {
      run_id: streamId,
      scorers: scorers.map((one) => ({ scorer_type: 'preset', scoreable_node_types: ['session'], ...one })),
    });
  const sessionsOf = async ({ projectId, streamId }: { projectId: string; streamId: string }): Promise<Body[]> =>
    (await send(`/v2/projects/${projectId}/sessions/search`, { log_stream_id: streamId, limit: 1_000 })).records;

  test('is shown to a judge as its traces in order', async () => {
    const stream = await logged([turn('Book a table', 'For how many?')], talk);
    await stream.log([turn('For two', 'Booked.', [{ type: 'tool', name: 'book', input: '{"n":2}', output: 'ok' }])]);
    const whole = await judge('Was the user served?', { scoreable_node_types: ['session'] });
    const { prompt, info } = await stream.scored([whole], 'sessions');
    expect(info).toMatchObject({ status_type: 'success', value: true });
    expect(prompt).toContain(
      'name="transcript">\nTurn 1\nuser: Book a table\nassistant: For how many?\nTurn 2\nuser: For two\nassistant: Booked.\n',
    );
    expect(prompt).toContain('1. tool "book" (turn 2)\n   input: {"n":2}\n   output: ok');
    const io = await judge('Was the user served?', { input_type: 'sessions_trace_io_only' });
    const ofTexts = await stream.scored([io], 'sessions');
    expect(ofTexts.prompt).toContain('user: For two');
    expect(ofTexts.prompt).not.toContain('tool "book"');
    const ofInput = await judge('Rude? {{input}}', { input_type: 'trace_input_only', scoreable_node_types: ['session'] });
    const inputs = await stream.scored([ofInput], 'sessions');
    expect(inputs.prompt).toContain('name="input">\nTurn 1: Book a table\nTurn 2: For two\n');
    expect(inputs.prompt).not.toContain('Booked.');
  });

  test('that is empty has no value of any judge', async () => {
    const stream = await logged([turn('', '  ')], talk);
    const { id: opened } = await send(`/v2/projects/${stream.projectId}/sessions`, {
      log_stream_id: stream.streamId,
      name: 'none',
    });
    expect(opened).toEqual(expect.any(String));
    const own = await judge('Was the user served?', { scoreable_node_types: ['session'] });
    await enable(
      stream,
      ['toxicity', ...agentMetrics].map((name) => ({ id: idOf(name) })),
    );
    const ids = [own, ...['toxicity', ...agentMetrics].map(idOf)];
    const { prompts, infos } = await stream.scored(ids, 'sessions');
    expect(prompts).toEqual([]);
    expect(infos).toHaveLength(2);
    for (const info of infos)
      for (const name of [own, 'toxicity', ...agentMetrics]) expect(info[name]).toMatchObject({ status_type: 'not_applicable' });
  });

  test('of live traffic is scored once it has been idle, and again when a trace comes later', async () => {
    const stream = await logged([]);
    await stream.log([turn('before', 'switched on')], { session_external_id: 'old' });
    await enable(
      stream,
      [...agentMetrics, 'total_tokens'].map((name) => ({ id: idOf(name) })),
    );
    const from = endpoint.requests.length;
    const tool = { type: 'tool', name: 'book', input: '{}', output: 'ok' };
    const asked = (name: string) =>
      endpoint.requests
        .slice(from)
        .map(({ text }) => text)
        .filter((text) => text.includes(name));
    await stream.log([turn('Book a table', 'For how many?', [tool])], talk);
    await stream.log([turn('alone', 'without a session', [tool])], {});
    await stream.log([turn('For two', 'Booked.', [tool])], talk);
    const states = async (external: string) =>
      (await sessionsOf(stream))
        .filter(({ external_id }) => external_id === external)
        .flatMap(({ metric_info }) => agentMetrics.map((name) => metric_info?.[name]?.value ?? metric_info?.[name]?.status_type));
    await expect.poll(() => states('talk')).toEqual([true, true, true, true]);
    expect(asked('Turn 2: For two')).toHaveLength(4);
    for (const text of asked('Turn 2: For two')) expect(text).toContain('Turn 1: Book a table');
    endpoint.otherwise(says('{"explanation": "no", "verdict": false}'));
    await stream.log([turn('Cancel it', 'No.', [tool])], talk);
    await expect.poll(() => states('talk')).toEqual([false, false, false, false]);
    expect(asked('Turn 3: Cancel it')).toHaveLength(4);
    expect(await states('old')).not.toContain(true);
    expect(asked('alone')).toEqual([]);
    expect((await sessionsOf(stream)).find(({ external_id }) => external_id === 'old')?.metric_info ?? {}).not.toMatchObject({
      agent_flow: { status_type: 'success' },
    });
  });
});
