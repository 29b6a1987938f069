import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { readProblems } from './problems.ts';

export interface StandInModel {
  /** Address to call, as an integration takes it. */
  url: string;
  apiKey: string;
  close(): Promise<void>;
}

export const STAND_IN = 'stand-in-1';

/**
 * A model that needs no provider: an endpoint of the OpenAI chat protocol, on a free local port, that knows the demo's problems. Asked for an
 * expression it writes the right one; asked for the answer it reckons in its head and slips at every sixth problem. Answers take 100 to 400 ms.
 */
export async function startStandInModel(): Promise<StandInModel> {
  const apiKey = 'stand-in-key';
  const problems = new Map(readProblems().map((problem, index) => [problem.input, { ...problem, index }]));

  const contentFor = (messages: { role: string; content: string }[]): string => {
    const asked = messages.map(({ content }) => content).join('\n');
    const problem = [...problems.values()].find(({ input }) => asked.includes(input));
    if (!problem) return 'I do not know this problem.';
    const { working } = problem.metadata;
    if (/expression/i.test(asked)) return working;
    const answer = Number(problem.output) + (problem.index % 6 === 5 ? 10 : 0);
    return `That is ${working}, which makes ${answer}.`;
  };

  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.headers['x-api-key'] !== apiKey) {
      answer(401, { error: { message: 'wrong API key' } });
      return;
    }
    const { model, messages } = JSON.parse(text) as { model: string; messages: { role: string; content: string }[] };
    const content = contentFor(messages);
    await delay(100 + 300 * Math.random());
    const usage = {
      prompt_tokens: messages.reduce((sum, one) => sum + tokensIn(one.content), 0),
      completion_tokens: tokensIn(content),
    };
    answer(200, {
      id: 'chatcmpl-demo',
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1_000),
      model,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens },
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    apiKey,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const tokensIn = (text: string): number => text.match(/\w+|[^\s\w]/g)?.length ?? 0;
