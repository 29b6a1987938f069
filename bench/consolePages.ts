import type { Page } from 'playwright-core';
import { newId } from '../shared/identifiers/ids.ts';
import { percentile } from '../shared/statistics/percentile.ts';
import { CHROMIUM, consoleBrowser } from '../test/support/consoleBrowser.ts';
import { consoleBytes } from '../test/support/consoleBytes.ts';
import { openRow } from '../test/support/openRow.ts';
import { type LiveService, startLiveService } from './liveService.ts';
import { canTakeTimes, slowDown, timeAction, timeOpening, timeScrolling } from './pageTimes.ts';

/** Milliseconds. */
export const goals = { records: 1_000, trace: 1_500, paint: 100, data: 300, frame: 50 };
const GROUPS = 100;
const SPANS_PER_GROUP = 99;
export const SLOW = 4;

/** Sorted milliseconds of a thing that was done many times, by the name of what was timed. */
export type Times = Map<string, { goal: number; taken: number[] }>;

/**
 * Times the pages of the console in Chromium as somebody has them who looks at a log stream of `spans` spans while 160 new ones a second arrive: `rounds`
 * times each, first on the machine as it is, then with the page's thread four times slower. What is asked for is another in every round.
 */
export async function timeConsolePages(spans: number, rounds: number): Promise<void> {
  await printBytes();
  await using service = await startLiveService();
  await service.fill(spans);
  const traceId = await logLongTrace(service);
  await using pages = await consoleBrowser(CHROMIUM, service.url);
  const page = await pages.signedIn({ key: service.apiKey });
  await canTakeTimes(page);
  const timed = async () => {
    const times: Times = new Map();
    await timeRecords(page, service, rounds, times);
    await timeTrace(page, `${service.url}/console/p/${service.target.projectId}/traces/${traceId}`, rounds, times);
    return times;
  };
  const {
    result,
    spans: arrived,
    refused,
  } = await service.whileTracesArrive(async () => {
    const usual = await timed();
    await slowDown(page, SLOW);
    return { usual, slow: await timed() };
  });
  console.log(`${spans.toLocaleString('en')} spans; ${arrived} more came meanwhile, ${refused} requests were refused`);
  print('as it is', result.usual);
  print(`CPU ${SLOW} times slower`, result.slow);
}

// Completion of filters announces itself in a status of its own.
const TOTAL = `[...document.querySelectorAll('[role=status]')].map((it) => it.textContent).find((it) => /^\\d/.test(it))`;
const FIRST = `document.querySelector('[role=grid] [aria-rowindex="2"]')?.textContent`;
/** True once the answer before has gone; without records there is no grid. */
const IS_NEW = `document.querySelector('[role=grid]')?.ariaBusy !== 'true'`;
const ARTICLE = `document.querySelector('article')?.textContent`;

async function timeRecords(page: Page, service: LiveService, rounds: number, times: Times): Promise<void> {
  const address = `${service.url}/console/p/${service.target.projectId}/records`;
  const isUsable = `${FIRST} && /\\d/.test(${TOTAL})`;
  const filter = page.getByLabel('Filter', { exact: true });
  const filtered = (act: () => Promise<void>) =>
    timeAction(page, { type: 'keydown', noted: TOTAL, isThere: `${IS_NEW} && /\\d/.test(${TOTAL}) && ${TOTAL} !== before`, act });
  for (let round = 0; round < rounds; round++) {
    note(times, 'traces, page usable', goals.records, await timeOpening(page, address, isUsable));
    note(times, 'spans, page usable', goals.records, await timeOpening(page, `${address}?kind=spans`, isUsable));

    // A figure that no other round has: no answer is there before.
    await filter.fill(`metrics/duration_ns > ${1e9 + Math.floor(Math.random() * 2e9)}`);
    noteAction(times, 'filter by a number', await filtered(() => filter.press('Enter')));
    await filter.fill(`input contains "${nextWord()}"`);
    noteAction(times, 'filter by a text', await filtered(() => filter.press('Enter')));

    await filter.fill(`metrics/duration_ns > ${1e6 + Math.floor(Math.random() * 1e9)}`);
    await filtered(() => filter.press('Enter'));
    // The newest may be the slowest as well, so the first row need not change.
    const sorted = { type: 'click', isThere: `${IS_NEW} && document.querySelector('[aria-sort=descending]') && ${FIRST}` };
    const head = page.getByRole('columnheader', { name: 'Latency' }).getByRole('button').first();
    noteAction(times, 'sort', await timeAction(page, { ...sorted, act: () => head.click() }));

    await openRow(page.getByRole('grid').getByRole('row').nth(1));
    await page.getByRole('article').waitFor();
    const next = { type: 'keydown', noted: ARTICLE, isThere: `${ARTICLE} && ${ARTICLE} !== before` };
    for (let step = 0; step < 2; step++)
      noteAction(times, 'next record', await timeAction(page, { ...next, act: () => page.keyboard.press('j') }));
    for (const [key, tab] of [
      ['2', 'Text'],
      ['3', 'JSON'],
      ['1', 'Conversation'],
    ] as const) {
      const isThere = `document.querySelector('article [role=tab][aria-selected=true]')?.textContent === '${tab}'`;
      noteAction(times, 'switch tab', await timeAction(page, { type: 'keydown', isThere, act: () => page.keyboard.press(key) }));
    }
    await page.keyboard.press('Escape');

    await timeOpening(page, `${address}?kind=spans`, isUsable);
    note(times, 'spans, longest frame of scrolling', goals.frame, await timeScrolling(page, '[role=grid]', 600));
  }
}

async function timeTrace(page: Page, address: string, rounds: number, times: Times): Promise<void> {
  const isUsable = `document.querySelectorAll('[role=treegrid] [role=row]').length > 10 && document.querySelector('article')`;
  for (let round = 0; round < rounds; round++) {
    note(times, 'trace of 10,000 spans, page usable', goals.trace, await timeOpening(page, address, isUsable));
    const rows = `document.querySelector('[role=treegrid]').ariaRowCount`;
    await page.getByRole('treegrid').getByRole('row', { name: 'step 0', exact: false }).first().getByText('step 0').click();
    for (const [key, name] of [
      ['ArrowLeft', 'close a span'],
      ['ArrowRight', 'expand a span'],
    ] as const)
      noteAction(
        times,
        name,
        await timeAction(page, {
          type: 'keydown',
          noted: rows,
          isThere: `${rows} !== before`,
          act: () => page.keyboard.press(key),
        }),
      );
    const next = { type: 'keydown', noted: ARTICLE, isThere: `${ARTICLE} && ${ARTICLE} !== before` };
    noteAction(times, 'next span of the trace', await timeAction(page, { ...next, act: () => page.keyboard.press('j') }));
    note(times, 'trace, longest frame of scrolling', goals.frame, await timeScrolling(page, '[role=treegrid]', 900));
  }
}

export function note(times: Times, name: string, goal: number, taken: number): void {
  const known = times.get(name);
  if (known) known.taken.push(taken);
  else times.set(name, { goal, taken: [taken] });
}

export function noteAction(times: Times, name: string, { paint, data }: { paint: number; data: number }): void {
  note(times, `${name}, next paint`, goals.paint, paint);
  note(times, `${name}, data`, goals.data, data);
}

export function print(title: string, times: Times): void {
  console.log(title);
  console.log(`  ${'what'.padEnd(38)} times  p50 ms  p95 ms  goal`);
  for (const [name, { goal, taken }] of times) {
    const sorted = taken.toSorted((a, b) => a - b);
    const [p50, p95] = [percentile(sorted, 0.5), percentile(sorted, 0.95)];
    const cells = [String(taken.length).padStart(6), p50.toFixed(0).padStart(8), p95.toFixed(0).padStart(8)].join('');
    console.log(`  ${name.padEnd(38)}${cells} ${String(goal).padStart(5)}  ${Math.round(p95) <= goal ? 'met' : 'missed'}`);
  }
}

async function printBytes(): Promise<void> {
  const { filesOf, kilobytes } = await consoleBytes();
  const signIn = kilobytes(filesOf());
  const records = filesOf('src/records/RecordsPage.tsx');
  const line = (name: string, size: number, goal: number) =>
    console.log(
      `  ${name.padEnd(38)}${size.toFixed(1).padStart(8)}${String(goal).padStart(7)}  ${size <= goal ? 'met' : 'missed'}`,
    );
  console.log(`JavaScript, gzip${'KB'.padStart(32)}   goal`);
  line('sign-in', signIn, 130);
  line('records', kilobytes(records), 205);
  for (const name of ['projects/ProjectsPage', 'trace/TracePage', 'sessionPage/SessionPage', 'frame/Palette', 'frame/Help']) {
    const own = [...filesOf(`src/${name}.tsx`)].filter((file) => !records.has(file));
    line(`${name.split('/')[1]}, beyond the records`, kilobytes(own), 45);
  }
}

const syllables = ['ka', 'lo', 'mi', 'ter', 'ba', 'sen', 'dor', 'vi', 'nu', 'pra', 'ex', 'ol'];

let words = 0;
/** A part of a word, another at each of 144 calls. */
function nextWord(): string {
  const word = words++;
  return `${syllables[word % 12]}${syllables[(Math.floor(word / 12) + word) % 12]}`;
}

/** A trace of 100 agents with 99 model calls each. */
export async function logLongTrace(service: LiveService): Promise<string> {
  const id = newId();
  const begun = Date.now() - 120_000;
  const text = (place: number) => Array.from({ length: 80 }, (_, word) => syllables[(place * 7 + word * word) % 12]).join(' ');
  const at = (place: number) => new Date(begun + place * 10).toISOString();
  const spans = Array.from({ length: GROUPS }, (_, group) => {
    const first = group * (SPANS_PER_GROUP + 1);
    return {
      ...{ type: 'agent', name: `step ${group}`, created_at: at(first), input: text(first), output: text(first + 1) },
      spans: Array.from({ length: SPANS_PER_GROUP }, (_, call) => ({
        ...{ type: 'llm', name: `call ${call}`, created_at: at(first + call + 1), model: 'a-model' },
        input: [{ role: 'user', content: text(first + call) }],
        output: { role: 'assistant', content: `${call} ${text(call)}` },
        metrics: { duration_ns: 9e6 + call, num_input_tokens: 90, num_output_tokens: 80 },
      })),
    };
  });
  await service.send('POST', '/traces', {
    log_stream_id: service.target.runId,
    traces: [{ type: 'trace', id, name: 'long', created_at: at(0), input: 'go', output: 'done', spans }],
  });
  return id;
}
