import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../shared/statistics/percentile.ts';
import { type LiveService, MODELS, NEEDLES, startLiveService } from './liveService.ts';

const WARM_UP = 3;
/** Between two runs of a question, so that something was written since the last. */
const PAUSE_MS = 400;
const TOKENS = 1_200;
const DAY_MS = 86_400_000;

interface Question {
  name: string;
  path: string;
  /** The body for the n-th run. */
  body(n: number): object;
}

/**
 * Asks the whole service over one connection, first without writes, then while 160 new spans a second arrive. Values rotate, and the live questions
 * have a pause between them in which something was written.
 */
export async function searchLive(spans: number, rounds: number): Promise<void> {
  await using service = await startLiveService();
  const begun = performance.now();
  await service.fill(spans);
  console.log(`${spans.toLocaleString('en')} spans logged in ${((performance.now() - begun) / 1_000).toFixed(0)} s`);
  print('no writes', await askAll(service, rounds, 0));
  const { result, spans: arrived, refused } = await service.whileTracesArrive(() => askAll(service, rounds, PAUSE_MS));
  print(`live (${arrived} spans came meanwhile, ${refused} requests were refused)`, result);
}

interface Figures {
  name: string;
  p50: number;
  p95: number;
  statements: number;
  /** Share of the answers for which the engine read nothing. */
  kept: number;
}

async function askAll(service: LiveService, rounds: number, pauseMs: number): Promise<Figures[]> {
  const figures: Figures[] = [];
  for (const { name, path, body } of questions(service.target.runId)) {
    const answers: { ms: number; statements: number }[] = [];
    for (let n = -WARM_UP; n < rounds; n++) {
      await sleep(pauseMs);
      const answer = await service.send('POST', path, body(n + WARM_UP));
      if (n >= 0) answers.push(answer);
    }
    const times = answers.map(({ ms }) => ms).sort((a, b) => a - b);
    figures.push({
      name,
      p50: percentile(times, 0.5),
      p95: percentile(times, 0.95),
      statements: answers.reduce((sum, { statements }) => sum + statements, 0) / answers.length,
      kept: answers.filter(({ statements }) => statements === 0).length / answers.length,
    });
  }
  return figures;
}

function print(title: string, figures: readonly Figures[]): void {
  console.log(title);
  console.log(`  ${'question'.padEnd(22)}  p50 ms  p95 ms  statements  from a cache`);
  for (const { name, p50, p95, statements, kept } of figures) {
    const cells = [p50.toFixed(1).padStart(8), p95.toFixed(1).padStart(8), statements.toFixed(1).padStart(12)];
    console.log(`  ${name.padEnd(22)}${cells.join('')}${`${(100 * kept).toFixed(0)} %`.padStart(14)}`);
  }
}

const COLUMNS = ['name', 'input', 'output', 'status_code', 'created_at', 'metrics/duration_ns', 'metrics/num_total_tokens'];

/** Returns what a page of traces asks of any such tool. */
function questions(runId: string): Question[] {
  const leaf = (type: string, column_id: string, operator: string, value: unknown) => ({ type, column_id, operator, value });
  const page = (filters: object[], { sort = 'created_at', offset = 0 } = {}) => ({
    log_stream_id: runId,
    filters,
    sort: { column_id: sort, ascending: false },
    truncate_fields: true,
    pagination: { starting_token: offset, limit: 50 },
    select_columns: { column_ids: COLUMNS },
  });
  const midnight = new Date().setUTCHours(0, 0, 0, 0);
  const time = (ms: number) => new Date(ms).toISOString();
  const traces = '/traces/partial_search';
  const isError = leaf('number', 'status_code', 'gte', 500);
  return [
    { name: 'newest 50', path: traces, body: () => page([]) },
    {
      name: 'errors of the last day',
      path: traces,
      body: () => page([isError, leaf('date', 'created_at', 'gte', time(midnight - DAY_MS))]),
    },
    {
      name: 'text in the input',
      path: traces,
      body: (n) => page([leaf('text', 'input', 'contains', NEEDLES[n % NEEDLES.length])]),
    },
    {
      name: 'model and tokens',
      path: '/spans/partial_search',
      body: (n) =>
        page(
          [
            leaf('text', 'type', 'eq', 'llm'),
            leaf('text', 'model', 'eq', MODELS[n % MODELS.length]),
            leaf('number', 'metrics/num_total_tokens', 'gt', TOKENS),
          ],
          { sort: 'metrics/duration_ns' },
        ),
    },
    { name: 'page 20', path: traces, body: () => page([], { offset: 950 }) },
    {
      name: 'counts by model',
      path: '/metrics/custom_search',
      body: () => ({
        log_stream_id: runId,
        filters: [leaf('text', 'type', 'eq', 'llm')],
        group_by: 'model',
        start_time: time(midnight - 29 * DAY_MS),
        end_time: time(midnight + DAY_MS),
        interval_minutes: 30 * 24 * 60,
        metric_details: [{ id: 'calls', metric_name: 'num_total_tokens', aggregation: 'Count' }],
      }),
    },
  ];
}
