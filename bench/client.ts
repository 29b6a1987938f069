import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { ServiceClient } from '../client/http.ts';
import { log } from '../client/log.ts';
import { Logger } from '../client/logger.ts';
import { percentile } from '../shared/statistics/percentile.ts';

/**
 * Measures the cost of logging for an application. Its functions only call each other; a request is one trace with an agent, a retriever, an llm and a
 * tool span. It runs first without a logger, then with one that sends to a server that takes everything, in a thread of its own. Only CPU time of the
 * application's thread counts, sending included. The goal is under 20 µs a span.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { requests: { type: 'string', default: '20000' }, rounds: { type: 'string', default: '5' } },
  });
  const requests = Number(values.requests);
  const sink = new Worker(SINK, { eval: true });
  try {
    const port = await new Promise<number>((resolve) => sink.once('message', resolve));
    const client = new ServiceClient({ apiUrl: `http://127.0.0.1:${port}`, apiKey: 'bench' });
    const application = () => answerAll(requests, (question) => answer(question));
    await application(); // pays for compiled code
    const without = await cpuUs(application);
    const logger = new Logger({ client, projectId: 'bench', logStreamId: 'bench' });
    const logged = async () => {
      await answerAll(requests, (question) => logger.trace(question, () => answer(question)));
      await logger.flush();
    };
    await logged();
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const costs: number[] = [];
    for (let round = 0; round < Number(values.rounds); round++)
      costs.push(((await cpuUs(logged)) - without) / (requests * SPANS_PER_REQUEST));
    delay.disable();
    await logger.close();
    const lines: [string, string][] = [
      ['spans', `${requests * SPANS_PER_REQUEST} in ${requests} traces, ${costs.length} rounds`],
      ['without a logger', `${(without / requests / SPANS_PER_REQUEST).toFixed(2)} µs a call`],
      [
        'logged and sent',
        `${percentile(
          costs.toSorted((a, b) => a - b),
          0.5,
        ).toFixed(1)} µs a span (${costs.map((us) => us.toFixed(1)).join(', ')})`,
      ],
      ['event loop delay', `p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms, longest ${(delay.max / 1e6).toFixed(1)} ms`],
      ['given up', String(logger.droppedTraces)],
    ];
    console.log('client library');
    for (const [name, value] of lines) console.log(`  ${name.padEnd(18)} ${value}`);
  } finally {
    await sink.terminate();
  }
}

/** Reads and forgets what it gets. Any project and log stream are there. */
const SINK = `
  const server = require('node:http').createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{"id":"bench"}'));
  });
  server.listen(0, '127.0.0.1', () => require('node:worker_threads').parentPort.postMessage(server.address().port));
`;

const SPANS_PER_REQUEST = 4;
const documents = ['The first page about it.', 'The second page about it.'];

const lookUp = log({ kind: 'retriever', name: 'look up' }, async (_question: string) => documents);
const ask = log(
  { kind: 'llm', name: 'ask', describe: () => ({ model: 'a-model', inputTokens: 200, outputTokens: 20 }) },
  async (messages: { role: string; content: string }[]) => ({
    role: 'assistant',
    content: `An answer to ${messages[0]?.content}`,
  }),
);
const calculate = log({ kind: 'tool', name: 'calculate' }, (expression: string) => expression.length);
const answer = log({ kind: 'agent', name: 'answer' }, async (question: string) => {
  const found = await lookUp(question);
  const { content } = await ask([{ role: 'user', content: `${question}\n${found.join('\n')}` }]);
  return `${content} (${calculate(content)})`;
});

/** As a server does: some requests at a time, and the event loop goes round between them. */
async function answerAll(requests: number, handle: (question: string) => Promise<string>): Promise<void> {
  for (let index = 0; index < requests; index += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, at) => handle(`What of number ${index + at}?`)));
    await nextTurn();
  }
}

/** CPU time of this thread. */
async function cpuUs(work: () => Promise<void>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}
