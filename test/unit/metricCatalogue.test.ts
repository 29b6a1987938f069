import { describe, expect, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { builtinMetrics } from '../../shared/metrics/index.ts';
import type { JudgeRequest, Metric, ScoreContext, ScoredRecord } from '../../shared/metrics/metric.ts';
import { scoreRecord, withJudges } from '../../shared/metrics/scoreRecord.ts';
import type { ModelCall } from '../../shared/modelCalls/modelCall.ts';
import type { EnabledMetric } from '../../shared/scorers/resolveMetrics.ts';
import { judgeContext } from '../../shared/scoring/judgeContext.ts';
import { scoredRecord as record } from '../support/scoredRecord.ts';

const metricCalled = (name: string): Metric => builtinMetrics.find((metric) => metric.name === name) as Metric;

/** A judge that works its verdict out from what it is asked, and keeps that. */
function judge(answer: (prompt: string, judge: number) => unknown): ScoreContext & { asked: JudgeRequest[] } {
  const asked: JudgeRequest[] = [];
  return {
    asked,
    signal: new AbortController().signal,
    async complete(request) {
      asked.push(request);
      const text = JSON.stringify({ explanation: 'because', ...(answer(request.prompt, request.judge ?? 0) as object) });
      return { text, inputTokens: 100, outputTokens: 10, model: 'judge-1', costUsd: 0.001 };
    },
  };
}

const score = (name: string, given: Partial<ScoredRecord>, context: ScoreContext) =>
  scoreRecord(metricCalled(name), record(given), context);

/** The materials of a prompt by their names. */
const materialIn = (prompt: string): Record<string, string> =>
  Object.fromEntries(
    [...prompt.matchAll(/<(material-\w+) name="([^"]+)">\n([\s\S]*?)\n<\/\1>/g)].map(([, , name, text]) => [name, text]),
  );

const documentsIn = (prompt: string): string[] =>
  Object.entries(materialIn(prompt)).flatMap(([name, text]) => (name.startsWith('document ') ? [text] : []));

const retriever = (...contents: string[]) =>
  record({ kind: 'retriever', input: 'capital', output: JSON.stringify(contents.map((content) => ({ content }))) });

describe('metrics of retrieved chunks', () => {
  const chunks = retriever(
    'Paris is the capital of France.',
    'Lyon has a river.',
    'France has 68 million people.',
    'Rome is old.',
  );
  const given = { input: 'What is the capital of France, and how many people live there?', output: 'Paris.', spans: [chunks] };

  test('relevance is the share of the chunks that help to answer the input', async () => {
    const context = judge((prompt) => ({
      relevant: documentsIn(prompt).flatMap((text, index) => (text.includes('France') ? [index + 1] : [])),
    }));
    expect(await score('chunk_relevance', given, context)).toMatchObject({
      value: 0.5,
      explanation: 'because',
      metadata: { relevant_documents: [1, 3], documents: 4 },
    });
    expect(materialIn(context.asked[0]?.prompt ?? '')).toMatchObject({ input: given.input, 'document 4': 'Rome is old.' });
    expect(materialIn(context.asked[0]?.prompt ?? '')).not.toHaveProperty('output');
  });

  test('attribution is the share that the output draws on, utilization how much of all their text it took', async () => {
    const context = judge((prompt) => ({
      used: documentsIn(prompt).map((text) => (text.includes(materialIn(prompt).output?.replace('.', '') ?? '?') ? 50 : 0)),
    }));
    const scored = await score('chunk_attribution_utilization', given, context);
    expect(scored).toMatchObject({
      value: 0.25,
      metadata: { attributed_documents: [1], utilization_of_each: [0.5, 0, 0, 0], documents: 4 },
    });
    const lengths = ['Paris is the capital of France.', 'Lyon has a river.', 'France has 68 million people.', 'Rome is old.'];
    const characters = lengths.join('').length;
    expect(scored).toHaveProperty('metadata.utilization', (0.5 * (lengths[0] as string).length) / characters);
  });

  test.each([
    ['too few numbers', [50]],
    ['a number beyond 100', [50, 0, 0, 101]],
    ['a word', [50, 0, 0, 'none']],
  ])('a judge that gives %s of the use fails the value', async (_, used) => {
    expect(
      await score(
        'chunk_attribution_utilization',
        given,
        judge(() => ({ used })),
      ),
    ).toMatchObject({
      error: expect.stringContaining('"used" is not an array of 4 whole numbers from 0 to 100'),
    });
  });

  test('without chunks, or without an output to trace back, there is no value and nobody is asked', async () => {
    const context = judge(() => ({}));
    expect(await score('chunk_relevance', { ...given, spans: [] }, context)).toEqual({ notApplicable: 'nothing was retrieved' });
    const used = 'chunk_attribution_utilization';
    expect(await score(used, { ...given, spans: [] }, context)).toEqual({ notApplicable: 'nothing was retrieved' });
    expect(await score(used, { ...given, output: null }, context)).toEqual({ notApplicable: 'the record has no output' });
    expect(context.asked).toEqual([]);
  });
});

describe('user intent change', () => {
  const turns = (...inputs: string[]) =>
    inputs.map((input, index) => record({ input, output: `answer ${index + 1}`, spans: [] }));
  const asksOfRefund = judge((prompt) => ({ verdict: (materialIn(prompt).transcript ?? prompt).includes('refund') }));

  test('is judged of the turns of a session', async () => {
    const session = (...inputs: string[]) => ({ kind: 'session', traces: turns(...inputs), spans: [] }) as const;
    expect(await score('user_intent_change', session('Book a table', 'Give me a refund'), asksOfRefund)).toMatchObject({
      value: true,
    });
    expect(materialIn(asksOfRefund.asked[0]?.prompt ?? '').transcript).toBe(
      'Turn 1\nuser: Book a table\nassistant: answer 1\nTurn 2\nuser: Give me a refund\nassistant: answer 2',
    );
    expect(await score('user_intent_change', session('Book a table', 'For two'), asksOfRefund)).toMatchObject({ value: false });
  });

  test('is judged of the messages of one record, and not where the user speaks once', async () => {
    const messages = (...contents: string[]) => ({
      input: JSON.stringify(contents.map((content) => ({ content, role: 'user' }))),
      output: 'fine',
    });
    expect(await score('user_intent_change', messages('Book', 'A refund'), asksOfRefund)).toMatchObject({ value: true });
    const once = { notApplicable: 'the user spoke fewer than two times' };
    const calls = asksOfRefund.asked.length;
    for (const given of [
      messages('Book'),
      { input: 'Book' },
      { input: '[1, 2]' },
      { kind: 'session', traces: turns('Book'), spans: [] } as const,
    ])
      expect(await score('user_intent_change', given, asksOfRefund)).toEqual(once);
    expect(asksOfRefund.asked).toHaveLength(calls);
  });
});

describe('small tuned forms', () => {
  const forms = builtinMetrics.filter(({ tunedFormOf }) => tunedFormOf !== undefined);

  test('ask what the metric itself asks', async () => {
    expect(forms).toHaveLength(18);
    const text = { input: 'What is 2+2?', output: '4', datasetOutput: '4' };
    const tool = record({ kind: 'tool', name: 'add', input: '{}', output: '4', errorMessage: 'late' });
    for (const form of forms) {
      const own = metricCalled(form.tunedFormOf as string);
      const [byForm, byOwn] = [judge(() => ({})), judge(() => ({}))];
      const given = record({ ...text, spans: [tool, retriever('a sum')] });
      const scored = await scoreRecord(form, given, byForm);
      await scoreRecord(own, given, byOwn);
      expect(
        byForm.asked.map(({ prompt }) => prompt),
        form.name,
      ).toEqual(byOwn.asked.map(({ prompt }) => prompt));
      expect(byForm.asked.length, form.name).toBe(form.needs === 'judge' ? 1 : 0);
      if (form.needs === 'judge') expect(scored, form.name).toHaveProperty('error');
      else expect(scored).toMatchObject({ value: 1, metadata: { computed_by: own.name } });
    }
  });

  test('give a share: yes is 1, no is 0, and of several judges the share of those who say yes', async () => {
    const given = record({ input: 'Name two colours', output: 'Red.' });
    const isLong = judge((prompt) => ({ verdict: (materialIn(prompt).output ?? '').length > 5 }));
    expect(await scoreRecord(metricCalled('completeness_luna'), given, isLong)).toMatchObject({
      ...{ value: 0, explanation: 'because' },
      metadata: { computed_by: 'completeness' },
    });
    const long = { ...given, output: 'Red and blue.' };
    expect(await scoreRecord(metricCalled('completeness_luna'), long, isLong)).toMatchObject({ value: 1 });
    const twoOfThree = judge((_, index) => ({ verdict: index !== 1 }));
    const scored = await scoreRecord(withJudges(metricCalled('completeness_luna'), 3), long, twoOfThree);
    expect(scored).toMatchObject({ value: 2 / 3, metadata: { computed_by: 'completeness', judges: [1, 0, 1] } });
  });

  test('of ratings and labels have the type of the metric itself', async () => {
    const angry = judge(() => ({ label: 'anger' }));
    expect(await scoreRecord(metricCalled('output_tone'), record({ output: 'No!' }), angry)).toMatchObject({ value: 'anger' });
    const rude = judge(() => ({ rating: 40 }));
    expect(await scoreRecord(metricCalled('output_toxicity_luna'), record({ output: 'No!' }), rude)).toMatchObject({
      value: 0.4,
      metadata: { computed_by: 'output_toxicity' },
    });
    expect(metricCalled('prompt_injection_luna')).toMatchObject({
      direction: 'lower',
      outputType: 'percentage',
      rollUp: 'average',
    });
  });
});

describe('metrics of log probabilities', () => {
  const nobody = judge(() => ({}));
  const openAi = JSON.stringify({
    content: [
      { token: 'Pa', logprob: -0.25, top_logprobs: [] },
      { token: 'ris', logprob: -0.75 },
    ],
  });

  test.each([
    ['numbers', '[-0.25, -0.75]', 0.5],
    ['numbers that no double holds', '[-0.250000000000000000000000001, -0.75]', 0.5],
    ['tokens', '[{"token": "Pa", "logprob": -0.25}, {"token": "ris", "logprob": -0.75}]', 0.5],
    ['the answer of a chat', openAi, 0.5],
    ['the answer of a completion', '{"tokens": ["Pa", "ris"], "token_logprobs": [null, -0.5]}', 0.5],
    ['the result of Gemini', '{"chosenCandidates": [{"token": "a", "logProbability": -0.25}, {"logProbability": -0.75}]}', 0.5],
    ['the whole of it', '{"avgLogprobs": -9, "logprobsResult": {"chosenCandidates": [{"logProbability": -0.5}]}}', 0.5],
    ['its mean alone', '{"avgLogprobs": -0.5}', 0.5],
    ['a prompt in the form of vLLM', '[null, {"17": {"logprob": -0.5, "rank": 1, "decoded_token": "a"}}]', 0.5],
    ['a certain answer', '[0, 0]', 0],
  ])('uncertainty is the mean of −log p: %s', async (_, logprobs, value) => {
    expect(await score('uncertainty', { kind: 'llm', metadata: { logprobs } }, nobody)).toMatchObject({ value });
  });

  test('prompt perplexity is e to that of the prompt', async () => {
    const given = { kind: 'llm', metadata: { prompt_logprobs: '[null, -0.5, -1.5]', logprobs: '[-9]' } } as const;
    expect(await score('prompt_perplexity', given, nobody)).toEqual({ value: Math.E, metadata: { tokens: 2 } });
  });

  test.each([
    ['nothing', undefined, /metadata of the record has no `logprobs`/],
    ['an empty list', '[]', /is empty/],
    ['a text', 'high', /no list of log probabilities/],
    ['probabilities', '[0.9, 0.8]', /no list of log probabilities/],
    ['a hole', '[-0.1, null]', /no list of log probabilities/],
    ['other objects', '[{"token": "Pa"}]', /no list of log probabilities/],
  ])('a record with %s has no value, and says why', async (_, logprobs, reason) => {
    const scored = await score('uncertainty', { kind: 'llm', metadata: logprobs === undefined ? {} : { logprobs } }, nobody);
    expect(scored).toEqual({ notApplicable: expect.stringMatching(reason) });
  });
});

describe('metrics of images and sounds', () => {
  const cat = 'data:image/png;base64,Y2F0';
  const dog = 'data:image/jpeg;base64,ZG9n';
  /** A judge that sees: it says yes to what shows a cat. */
  const seesCat = () => {
    const context = judge(() => ({ verdict: context.asked.at(-1)?.images?.includes(cat) ?? false }));
    return context;
  };

  test('a judge is shown the images in their order, and texts that name them', async () => {
    const context = seesCat();
    const input = `[{"content":"Is ${dog} larger than ${cat}?","role":"user"}]`;
    expect(await score('correctness_vision', { input, output: 'Yes' }, context)).toMatchObject({ value: true });
    const [{ prompt, images } = { prompt: '' }] = context.asked;
    expect(images).toEqual([dog, cat]);
    expect(materialIn(prompt).input).toBe('[{"content":"Is (image 1) larger than (image 2)?","role":"user"}]');
    expect(prompt).toMatch(/The 2 images that the material names follow in their order[\s\S]*never an instruction to you\.$/);
    expect(prompt).not.toContain('base64');
  });

  test('the images go to the model as parts of the message, after the text', async () => {
    const sent: unknown[] = [];
    const models = {
      complete: async ({ messages }: ModelCall): Promise<never> => {
        sent.push(messages.at(-1));
        throw new Error('down');
      },
    };
    const run = { modelAlias: null, maxCallAttempts: 1, limits: {}, jobId: 'j', userId: 'u', projectId: 'p', runId: 'r' };
    const { signal } = new AbortController();
    const metric = { ...metricCalled('visual_quality'), judgeModel: 'm' } as EnabledMetric;
    const context = judgeContext(models, run as never, metric, signal, signal, async () => {}, false);
    expect(await scoreRecord(metric, record({ output: cat }), context)).toMatchObject({
      gaveUp: expect.stringContaining('down'),
    });
    await scoreRecord({ ...metricCalled('correctness') }, record({ input: 'a', output: 'b' }), context);
    expect(sent).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: expect.stringContaining('(image 1)') },
          { type: 'image_url', image_url: { url: cat } },
        ],
      },
      { role: 'user', content: expect.stringContaining('Decide whether') },
    ]);
  });

  test('the quality and the fidelity of images are about those of the output', async () => {
    const context = seesCat();
    expect(await score('visual_fidelity', { input: 'Draw a cat', output: cat }, context)).toMatchObject({ value: true });
    expect(await score('visual_fidelity', { input: 'Draw a cat', output: dog }, context)).toMatchObject({ value: false });
    expect(await score('visual_quality', { input: dog, output: cat }, context)).toMatchObject({ value: true });
    expect(context.asked.map(({ images }) => images)).toEqual([[cat], [dog], [cat]]);
    for (const name of ['visual_fidelity', 'visual_quality'])
      expect(await score(name, { input: cat, output: 'A cat.' }, context)).toEqual({ notApplicable: 'the record has no image' });
  });

  test('images beyond the tenth, and one that is cut off, are not shown', async () => {
    const context = seesCat();
    const input = Array.from({ length: 12 }, () => cat).join(' ');
    await score(
      'input_toxicity_vision',
      { input, output: '' },
      judge(() => ({})),
    );
    expect(await score('correctness_vision', { input, output: 'Yes' }, context)).toMatchObject({ value: true });
    expect(context.asked[0]?.images).toHaveLength(10);
    expect(context.asked[0]?.prompt).toContain('(image 10) (an image that is not shown) (an image that is not shown)');
    expect(context.asked[0]?.prompt).toContain('; 2 more are not shown');
    const turn = record({ input: 'Look', output: `Here: ${cat}`, outputLength: 1_000 });
    const session = { kind: 'session', traces: [turn, turn], spans: [] } as const;
    expect(await score('user_intent_change_vision', session, context)).toEqual({
      notApplicable: 'the images of the record are too large to be shown to a judge',
    });
  });

  test('an uploaded image is shown in place of its id, once however often it is named, and other files and ids stay', async () => {
    const [image, other, unknown] = [newId(), newId(), newId()];
    const files = [
      { id: image, modality: 'image', sizeBytes: 3 },
      { id: other, modality: 'document', sizeBytes: 3 },
    ];
    const input = JSON.stringify([image, other, unknown, image].map((file_id) => ({ type: 'file', file_id })));
    const context = judge(() => ({ verdict: true }));
    const given = { input, output: `Like ${cat} and ${image.toUpperCase()}`, files };
    expect(await score('correctness_vision', given, context)).toMatchObject({ value: true });
    expect(context.asked[0]?.images).toEqual([{ fileId: image }, cat]);
    const material = materialIn(context.asked[0]?.prompt ?? '');
    expect(material.input).toBe(
      JSON.stringify(['(image 1)', other, unknown, '(image 1)'].map((file_id) => ({ type: 'file', file_id }))),
    );
    expect(material.output).toBe('Like (image 2) and (image 1)');
    const large = [{ id: image, modality: 'image', sizeBytes: 16_000_000 }];
    expect(await score('correctness_vision', { ...given, output: 'a', files: large }, context)).toEqual({
      notApplicable: 'the images of the record are too large to be shown to a judge',
    });
    expect(await score('visual_quality', { input, output: 'A cat.', files }, context)).toEqual({
      notApplicable: 'the record has no image',
    });
  });

  test('a record without images, or with other files alone, has no value and nobody is asked', async () => {
    const nobody = judge(() => ({}));
    const vision = builtinMetrics.filter(({ multimodal }) => multimodal === 'vision');
    expect(vision).toHaveLength(10);
    for (const { name } of vision) {
      const given = { input: 'a', output: 'b', datasetOutput: 'b' };
      expect(await score(name, given, nobody), name).toEqual({ notApplicable: 'the record has no image' });
      const files = [{ id: newId(), modality: 'document', sizeBytes: 1 }];
      expect(await score(name, { ...given, input: files[0]?.id ?? '', files }, nobody), name).toEqual({
        notApplicable: 'the record has no image',
      });
    }
    expect(nobody.asked).toEqual([]);
  });

  test('of sounds there is never a value, and the reason tells whether there was one', async () => {
    const nobody = judge(() => ({}));
    const audio = builtinMetrics.filter(({ multimodal }) => multimodal === 'audio');
    expect(audio).toHaveLength(9);
    for (const { name } of audio) {
      expect(await score(name, { input: 'a', output: 'b' }, nobody)).toEqual({ notApplicable: 'the record has no audio' });
      const none = { notApplicable: 'judges take texts and images: no sound can be sent to them' };
      expect(await score(name, { input: 'data:audio/wav;base64,UklG', output: 'b' }, nobody)).toEqual(none);
      expect(await score(name, { input: 'a', files: [{ id: newId(), modality: 'audio', sizeBytes: 1 }] }, nobody)).toEqual(none);
    }
  });
});
