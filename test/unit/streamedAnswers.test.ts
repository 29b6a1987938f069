import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ModelAnswer, ModelCall } from '../../shared/modelCalls/modelCall.ts';
import { createOutboundGuard, type OutboundGuard } from '../../shared/outbound/outbound.ts';
import type { AnswerPiece } from '../../shared/providers/chatMessage.ts';
import { customIntegration, modelCallerOver } from '../support/modelCallers.ts';
import {
  beginStream,
  endOfPieces,
  fails,
  type ModelEndpoint,
  pieceOf,
  says,
  sends,
  startModelEndpoint,
  streams,
} from '../support/modelEndpoint.ts';

let guard: OutboundGuard;
let endpoint: ModelEndpoint;
beforeEach(async () => {
  endpoint = await startModelEndpoint();
  guard = createOutboundGuard({ allow: [new URL(endpoint.url).host], allowLoopback: true });
});
afterEach(async () => {
  await endpoint.close();
  await guard.close();
});

interface Heard {
  pieces: AnswerPiece[];
  partial: ModelAnswer | undefined;
  answer: ModelAnswer | undefined;
  error: unknown;
}

/** Calls the model and hears its answer. */
async function hear(more: Partial<ModelCall> = {}, onPiece?: () => void): Promise<Heard> {
  const heard: Heard = { pieces: [], partial: undefined, answer: undefined, error: undefined };
  const caller = modelCallerOver([customIntegration({ endpoint: `${endpoint.url}/v1` })], guard);
  try {
    heard.answer = await caller.complete({
      modelAlias: 'nick',
      messages: [{ role: 'user', content: 'hello' }],
      settings: {},
      context: {},
      signal: new AbortController().signal,
      retry: { maxAttempts: 3, minDelayMs: 5, maxDelayMs: 10 },
      stream: {
        piece(piece) {
          heard.pieces.push(piece);
          onPiece?.();
        },
        brokenOff(partial) {
          heard.partial = partial;
        },
      },
      ...more,
    });
  } catch (err) {
    heard.error = err;
  }
  return heard;
}

const textOf = ({ pieces }: Heard) => pieces.map(({ text }) => text).join('');
const [one, two] = [pieceOf({ role: 'assistant', content: 'Héllo 🌍' }), pieceOf({ content: ', world' })];

test('an answer in pieces adds up to the same as a whole one, with its counts and the time to its first piece', async () => {
  endpoint.next(streams(one, two, endOfPieces));
  const heard = await hear();
  expect(heard.pieces.map(({ text }) => text)).toEqual(['Héllo 🌍', ', world']);
  expect(heard.answer).toMatchObject({
    ...{ text: 'Héllo 🌍, world', finishReason: 'stop', model: 'real-name', inputTokens: 12, outputTokens: 3, costUsd: null },
    attempts: [{ outcome: 'ok' }],
  });
  expect(heard.answer?.timeToFirstTokenNs).toBeGreaterThan(0);
  expect(heard.answer?.timeToFirstTokenNs).toBeLessThanOrEqual(heard.answer?.durationNs as number);
  expect(endpoint.requests[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
});

test('without a listener the answer is asked for whole', async () => {
  expect((await hear({ stream: undefined })).answer?.timeToFirstTokenNs).toBeNull();
  expect(endpoint.requests[0]?.body).not.toHaveProperty('stream');
});

describe('pieces are read as endpoints really write them', () => {
  const whole = Buffer.from(`${one}${two}${endOfPieces}`);
  test.each<[string, (string | Uint8Array)[]]>([
    ['byte by byte', [...whole].map((byte) => Uint8Array.of(byte))],
    ['lines that end in CRLF', [...Buffer.from(whole.toString().replaceAll('\n', '\r\n'))].map((byte) => Uint8Array.of(byte))],
    ['lines that end in CR', [whole.toString().replaceAll('\n', '\r')]],
    [
      'a byte order mark, comments and other fields',
      ['\uFEFF: hi\n\nid: 1\nretry: 5\n\n', one, ': PROCESSING\n\n', two, endOfPieces],
    ],
    ['no space after the colon', [whole.toString().replaceAll('data: ', 'data:')]],
    ['no empty lines between', [whole.toString().replaceAll('\n\n', '\n')]],
    ['no mark at the end', [whole.toString().replace('data: [DONE]\n\n', '')]],
    ['no line end at the end', [whole.toString().trimEnd()]],
    ['a mark and no reason to end', [one, two, 'data: {"usage":{"prompt_tokens":12,"completion_tokens":3}}\n\ndata: [DONE]\n\n']],
    [
      'a first piece without choices, pings and nulls',
      [
        'data: {"choices":[],"prompt_filter_results":[]}\n\nevent: ping\ndata: {"type":"ping"}\n\ndata: null\n\n',
        ...[one, pieceOf({ content: null, tool_calls: null }), two, endOfPieces],
      ],
    ],
    [
      'a piece over several lines',
      [
        `data: ${JSON.stringify({ choices: [{ delta: { content: 'Héllo 🌍' } }] }, null, 1).replaceAll('\n', '\ndata: ')}\n\n`,
        ...[two, endOfPieces],
      ],
    ],
    [
      'counts in every piece',
      [
        one.replace('"choices"', '"usage":{"prompt_tokens":12,"completion_tokens":1},"choices"'),
        ...[two, pieceOf({}, { finish_reason: 'stop', usage: { prompt_tokens: 12, completion_tokens: 3 } })],
      ],
    ],
    ['other answers beside the first', [one, pieceOf({ content: 'no' }, { index: 1 }), two, endOfPieces]],
    [
      'the whole message once more at the end',
      [...[one, two, 'data: {"choices":[{"message":{"content":"Héllo 🌍, world"},"finish_reason":"stop"}]}\n\n', endOfPieces]],
    ],
  ])('%s', async (_name, parts) => {
    endpoint.next(streams(...parts));
    const heard = await hear();
    expect(heard.error).toBeUndefined();
    expect(textOf(heard)).toBe('Héllo 🌍, world');
    expect(heard.answer).toMatchObject({ text: 'Héllo 🌍, world', inputTokens: 12, outputTokens: 3 });
  });

  test('an answer that comes whole is one piece, whatever was asked for', async () => {
    endpoint.next(says('all at once'));
    const heard = await hear();
    expect(heard.pieces).toEqual([{ text: 'all at once', reasoning: '', toolCalls: [] }]);
    expect(heard.answer).toMatchObject({ text: 'all at once', timeToFirstTokenNs: null });
  });

  test('tool calls come in pieces, also where they share an index or have none', async () => {
    const call = (fields: object) => pieceOf({ tool_calls: [fields] });
    endpoint.next(
      streams(
        call({ index: 0, id: 'a', type: 'function', function: { name: 'find', arguments: '' } }),
        call({ index: 0, function: { arguments: '{"q":' } }),
        call({ index: 0, function: { arguments: '"x"}' } }),
        call({ index: 0, id: 'b', function: { name: 'send', arguments: '{}' } }),
        call({ id: 'c', function: { name: 'stop' } }),
        pieceOf({}, { finish_reason: 'tool_calls' }),
      ),
    );
    const heard = await hear();
    expect(heard.answer?.message.tool_calls).toEqual([
      { id: 'a', type: 'function', function: { name: 'find', arguments: '{"q":"x"}' } },
      { id: 'b', type: 'function', function: { name: 'send', arguments: '{}' } },
      { id: 'c', type: 'function', function: { name: 'stop', arguments: '{}' } },
    ]);
    expect(heard.pieces.flatMap(({ toolCalls }) => toolCalls)).toEqual([
      { index: 0, id: 'a', name: 'find', arguments: '' },
      { index: 0, arguments: '{"q":' },
      { index: 0, arguments: '"x"}' },
      { index: 1, id: 'b', name: 'send', arguments: '{}' },
      { index: 2, id: 'c', name: 'stop', arguments: '' },
    ]);
  });

  test('what a model thinks is told apart from what it says', async () => {
    endpoint.next(
      streams(
        pieceOf({ reasoning_content: 'let me ' }),
        pieceOf({ reasoning_content: 'see' }),
        pieceOf({ content: '42' }),
        endOfPieces,
      ),
    );
    const heard = await hear();
    expect(heard.pieces.map(({ reasoning }) => reasoning)).toEqual(['let me ', 'see', '']);
    expect(heard.answer).toMatchObject({ text: '42', reasoning: 'let me see' });
  });
});

describe('a call that fails', () => {
  test('is tried again before its first piece, and not after it', async () => {
    endpoint.next(
      fails(503),
      streams('data: {"error":{"message":"no","code":503}}\n\n'),
      streams(pieceOf({ role: 'assistant', content: '' })),
      streams(one, endOfPieces),
    );
    const first = await hear({ retry: { maxAttempts: 5, minDelayMs: 5, maxDelayMs: 10 } });
    expect(first.answer).toMatchObject({
      text: 'Héllo 🌍',
      attempts: [{}, { status: 503 }, { outcome: 'malformed_answer' }, { outcome: 'ok' }],
    });
    expect(textOf(first)).toBe('Héllo 🌍');

    endpoint.next(streams(one, 'data: {"error":{"message":"secret words","code":503}}\n\n'), streams(one, endOfPieces));
    const second = await hear();
    expect(second.error).toMatchObject({ name: 'ModelCallError', status: 503, attempts: [{ outcome: 'http_error' }] });
    expect(String(second.error)).not.toContain('secret');
    expect(second.partial).toMatchObject({ text: 'Héllo 🌍', inputTokens: null, outputTokens: null, costUsd: null });
    expect(endpoint.requests).toHaveLength(5);
  });

  test.each<[string, (string | Uint8Array)[], object]>([
    [
      'an error beside choices',
      [one, 'data: {"error":{"code":429},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}\n\n'],
      { status: 429 },
    ],
    ['an error of the choice', [one, pieceOf({}, { error: { code: 502 } })], { status: 502 }],
    ['an event error', [one, 'event: error\ndata: {"type":"overloaded_error","message":"x"}\n\n'], { status: 529 }],
    ['a text', [one, 'data: upstream timed out\n\n'], { attempts: [{ outcome: 'malformed_answer' }] }],
    ['a piece that is cut', [one, 'data: {"choices":[{"delta":{"content":"wo'], { attempts: [{ outcome: 'malformed_answer' }] }],
    ['no end', [one, two], { attempts: [{ outcome: 'malformed_answer' }] }],
    ['a reason that is an error', [one, pieceOf({}, { finish_reason: 'error' })], { attempts: [{ outcome: 'http_error' }] }],
  ])('keeps what had come: %s', async (_name, parts, error) => {
    endpoint.next(streams(...parts));
    const heard = await hear();
    expect(heard.error).toMatchObject({ name: 'ModelCallError', ...error });
    expect(heard.partial?.text).toContain('Héllo 🌍');
    expect(endpoint.requests).toHaveLength(1);
  });

  test('keeps what had come where the connection breaks', async () => {
    endpoint.next(async (_request, response) => {
      await new Promise((resolve) => beginStream(response).write(one, resolve));
      response.destroy();
    });
    const heard = await hear();
    expect(heard.error).toMatchObject({ attempts: [{ outcome: 'connection_error' }] });
    expect(heard.partial?.text).toBe('Héllo 🌍');
  });

  test('keeps what had come when its time is over, and is not paid for twice', async () => {
    endpoint.next(async (_request, response) => void beginStream(response).write(one));
    const heard = await hear({ timeLimitMs: 1_000 });
    expect(heard.error).toMatchObject({ attempts: [{ outcome: 'timeout' }] });
    expect(heard.partial?.text).toBe('Héllo 🌍');
  });
});

test('an abort ends the connection of the endpoint, and what had come is handed on', async () => {
  const closed = Promise.withResolvers<void>();
  endpoint.next(async (_request, response) => {
    beginStream(response).write(one);
    await once(response, 'close');
    closed.resolve();
  });
  const left = new AbortController();
  const heard = await hear({ signal: left.signal }, () => left.abort(new Error('enough')));
  await closed.promise;
  expect(heard.error).toMatchObject({ message: 'enough' });
  expect(heard.partial).toMatchObject({ text: 'Héllo 🌍', attempts: [{ outcome: 'cancelled' }] });
});

test('an endpoint that refuses to stream, or to count, is asked as it takes it, and that is remembered', async () => {
  const refuses = (param: string) =>
    fails(400, { error: { message: `Unsupported parameter: ${param}`, param, code: 'unsupported_parameter' } });
  const caller = modelCallerOver([customIntegration({ endpoint: `${endpoint.url}/v1` })], guard);
  const ask = () =>
    caller.complete({
      ...{ modelAlias: 'nick', messages: [{ role: 'user', content: 'hello' }], settings: {}, context: {} },
      ...{ signal: new AbortController().signal, stream: { piece: () => {}, brokenOff: () => {} } },
    });
  endpoint.next(refuses('stream_options'), streams(one, endOfPieces));
  expect((await ask()).adjustments).toEqual([]);
  expect(endpoint.requests[1]?.body).toMatchObject({ stream: true });
  expect(endpoint.requests[1]?.body).not.toHaveProperty('stream_options');
  endpoint.next(refuses('stream'), says('whole'));
  expect(await ask()).toMatchObject({ text: 'whole', adjustments: ['the answer is not streamed'] });
  expect(endpoint.requests[3]?.body).not.toHaveProperty('stream');
  endpoint.next(says('again'));
  expect(await ask()).toMatchObject({ text: 'again' });
  expect(endpoint.requests).toHaveLength(5);
});

test('an answer that is too large ends, streamed or not', async () => {
  const large = pieceOf({ content: 'x'.repeat(9 * 1024 * 1024) });
  endpoint.next(streams(large, large));
  expect((await hear()).error).toMatchObject({ attempts: [{ outcome: 'malformed_answer' }] });
  endpoint.next(sends(200, JSON.stringify({ choices: [{ message: { content: 'x'.repeat(17 * 1024 * 1024) } }] })));
  expect((await hear()).error).toMatchObject({ attempts: [{ outcome: 'malformed_answer' }] });
});
