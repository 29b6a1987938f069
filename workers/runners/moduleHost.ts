/**
 * The process in which a registered runner module runs: it loads the module, runs the rows it is sent, and goes when its parent goes. A module
 * that loops, leaks or crashes takes only this process with it.
 */

import { pathToFileURL } from 'node:url';
import { withParent } from '../../client/context.ts';
import { outputText } from '../../client/outputText.ts';
import { type OpenSpan, toWire } from '../../client/spans.ts';
import { thrownText } from '../../client/texts.ts';
import { dieWithParent } from '../../shared/childProcesses/parentWatch.ts';
import { jsonWithBigInts, parseWithBigInts } from '../../shared/wire/longNumbers.ts';
import type { HostMessage, HostRequest, ModuleRow } from './moduleProcess.ts';

type RunnerFunction = (input: unknown, context: RunnerModuleContext) => unknown;

/** The second argument of a registered runner, beside the row's input. */
export interface RunnerModuleContext {
  row: ModuleRow;
  experiment: { id: string; name: string; projectId: string };
  /** Rises with every repeat of this row. */
  attempt: number;
  /** Aborts when the row's time is over or the run is cancelled. */
  signal: AbortSignal;
}

// A blocked event loop never sees the channel close.
dieWithParent({ lookMs: 500, graceMs: 0 });
process.on('disconnect', () => process.exit(0));

const running = new Map<number, AbortController>();
const send = (message: HostMessage) => process.send?.(message);

const [modulePath = ''] = process.argv.slice(2);
let runner: RunnerFunction;
try {
  const loaded = (await import(pathToFileURL(modulePath).href)) as { default?: unknown };
  if (typeof loaded.default !== 'function') throw new Error('its default export is not a function');
  runner = loaded.default as RunnerFunction;
  send({ type: 'ready' });
} catch (err) {
  send({ type: 'broken', message: err instanceof Error ? err.message : thrownText(err) });
  process.disconnect?.();
}

process.on('message', (message: HostRequest) => {
  if (message.type === 'abort') {
    send({ type: 'heard', id: message.id });
    running.get(message.id)?.abort(new Error(message.reason));
  } else void runRow(message);
});

async function runRow({ id, row: json, experiment, attempt }: Extract<HostRequest, { type: 'run' }>): Promise<void> {
  const abort = new AbortController();
  running.set(id, abort);
  const startedAt = Date.now();
  const start = process.hrtime.bigint();
  const spans = { children: [] as OpenSpan[] };
  let result: { output: string | null; error?: string };
  try {
    const row = parseWithBigInts(json) as ModuleRow;
    const context = { row, experiment, attempt, signal: abort.signal };
    result = { output: await withParent(spans, async () => outputText(await runner(inputOf(row), context))) };
  } catch (err) {
    result = { output: null, error: thrownText(err) };
  }
  running.delete(id);
  const done = { type: 'done' as const, id, startedAt, durationNs: Number(process.hrtime.bigint() - start) };
  try {
    send({ ...done, spans: jsonWithBigInts(spans.children.map(toWire)), ...result });
  } catch (err) {
    const reason = `what was logged of this row is no JSON: ${thrownText(err)}`;
    send({ ...done, spans: '[]', output: result.output, error: result.error ?? reason });
  }
}

/** A function receives the parsed value when the cell is JSON, else the text; of a row without a column `input` its values, as functions of the client do. */
function inputOf({ input, values }: ModuleRow): unknown {
  if (!Object.hasOwn(values, 'input')) return values;
  try {
    return parseWithBigInts(input);
  } catch {
    return input;
  }
}
