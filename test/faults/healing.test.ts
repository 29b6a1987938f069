import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { inProcessGates } from '../../shared/coordination/inProcessGates.ts';
import { RequestInvalid, ServiceError } from '../../shared/errors/errors.ts';
import { type OfferDeps, offerRows } from '../../shared/experiments/callerRows.ts';
import { defaultRunSettings, type ExperimentRow, type ExperimentRun } from '../../shared/experiments/experiment.ts';
import { keepUnlessDeleted } from '../../shared/experiments/keepUnlessDeleted.ts';
import { type ProgressDeps, runProgress } from '../../shared/experiments/progress.ts';
import { reconcileRuns } from '../../shared/experiments/reconcileRuns.ts';
import { recordRows } from '../../shared/experiments/recordRows.ts';
import { RowMemory } from '../../shared/experiments/rowMemory.ts';
import type { RunLedger } from '../../shared/experiments/runLedger.ts';
import { type RunRowsDeps, runRows } from '../../shared/experiments/runRows.ts';
import type { RunWorkflows } from '../../shared/experiments/startRun.ts';
import { runControl } from '../../shared/experiments/steerRun.ts';
import { untilStored } from '../../shared/experiments/untilStored.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { type ActivityDeps, createActivities } from '../../workers/activities.ts';
import { noUsage } from '../support/noUsage.ts';
import { aRun, chunkOf, idsOf, rowsOf } from '../support/runInMemory.ts';
import { openSeededDatabase } from '../support/seedPostgres.ts';

const never = new AbortController().signal;

test('rows that have ended are not in flight, but a paused run with none running has come to rest: all of them are recorded', async () => {
  const run = aRun();
  const [writing, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const seen: number[] = [];
  let atOnce = 0;
  const deps = {
    rows: { page: rowsOf, traceIds: idsOf },
    log: {
      recorded: async () => new Map(),
      async write() {
        writing.resolve();
        await ended.promise;
      },
    },
    attempts: {
      note: (_run: unknown, { outcome }: { outcome: string }) => {
        if (outcome === 'succeeded' && ++atOnce === 3) setImmediate(ended.resolve);
      },
      flush: async () => undefined,
    },
    runner: {
      // The first row is written while the others still run; they end before it is recorded.
      run: async ({ ordinal }: { ordinal: number }) => {
        await (ordinal > 0 ? writing.promise : new Promise(setImmediate));
        return { output: 'answer', spans: [], startedAt: new Date(), durationNs: 1, attempts: 1 };
      },
      close: async () => undefined,
    },
    memory: new RowMemory(1_000),
    takeSlot: async () => () => undefined,
    lanes: () => 10,
    confirm: async () => undefined,
    handOver: async () => undefined,
    untilStored: <T>(operation: () => Promise<T>) => operation(),
    onProgress: ({ running }: { running: number }) => seen.push(running),
  } as unknown as RunRowsDeps;
  await runRows(deps, run, chunkOf(run), 1, never, async () => undefined);
  // The last two end before the first is recorded, and are two writes.
  expect(seen).toEqual([1, 2, 3, 2, 1, 1, 1, 1, 0]);
});

test('no more rows are said to run than have a slot, however many wait to be recorded', async () => {
  const run = aRun({ rowCount: 40 });
  const gates = inProcessGates(Date.now).concurrency;
  const seen: number[] = [];
  let begun = 0;
  let recorded = 0;
  const deps = {
    rows: { page: rowsOf, traceIds: idsOf },
    log: {
      recorded: async () => new Map(),
      write: async (_run: unknown, traces: readonly unknown[]) => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        recorded += traces.length;
      },
    },
    attempts: { note: () => undefined, flush: async () => undefined },
    runner: {
      async run() {
        begun++;
        return { output: 'answer', spans: [], startedAt: new Date(), durationNs: 1, attempts: 1 };
      },
      close: async () => undefined,
    },
    memory: new RowMemory(1_000),
    takeSlot: (signal: AbortSignal) => gates.acquire('run', 4, { signal }),
    lanes: () => 10,
    confirm: async () => undefined,
    handOver: async () => undefined,
    untilStored: <T>(operation: () => Promise<T>) => operation(),
    onProgress({ running }: { running: number }) {
      seen.push(running);
      if (running === 0) expect(recorded).toBe(begun);
    },
  } as unknown as RunRowsDeps;
  await runRows(deps, run, { ...chunkOf(run), to: 40 }, 1, never, async () => undefined);
  expect(Math.max(...seen)).toBeLessThanOrEqual(4);
  expect(seen.at(-1)).toBe(0);
});

test('a chunk of which one row hangs gives its place to the next one', async () => {
  const run = aRun();
  const handedOver = Promise.withResolvers<number>();
  const deps = {
    rows: { page: rowsOf, traceIds: idsOf },
    log: { recorded: async () => new Map(), write: async () => undefined },
    attempts: { note: () => undefined, flush: async () => undefined },
    runner: {
      // It ends when its chunk has said that it takes no further row: a chunk that waits for it never would.
      run: async ({ ordinal }: { ordinal: number }) => {
        if (ordinal === 1) await handedOver.promise;
        return { output: 'answer', spans: [], startedAt: new Date(), durationNs: 1, attempts: 1 };
      },
      close: async () => undefined,
    },
    memory: new RowMemory(1_000),
    takeSlot: async () => () => undefined,
    lanes: () => 10,
    confirm: async () => undefined,
    handOver: async (to: number) => handedOver.resolve(to),
    untilStored: <T>(operation: () => Promise<T>) => operation(),
    onProgress: () => undefined,
    onLate: () => undefined,
  } as unknown as RunRowsDeps;
  expect(await runRows(deps, run, chunkOf(run), 1, never, async () => undefined)).toEqual({ takenTo: 3, recorded: 3 });
  expect(await handedOver.promise).toBe(3);
});

test('what a run that has come to rest has done is counted after it did', async () => {
  const steps: string[] = [];
  const deps: ProgressDeps = {
    async tally(_run, _metrics, isAtRest) {
      steps.push(isAtRest ? 'counted at rest' : 'counted');
      return { rows: 2, failed: 0, scores: 0, usage: noUsage };
    },
    metricNames: async () => [],
    board: {
      publish: async () => undefined,
      async rowsRunning() {
        await new Promise(setImmediate);
        steps.push('looked what is running');
        return steps.length > 1 ? 1 : 0;
      },
    },
    leased: async () => 0,
    times: async () => ({ startedAt: null, endedAt: null, error: null, message: null }),
  };
  expect(await runProgress(deps, aRun({ state: 'paused' }))).toMatchObject({ rowsDone: 2, rowsRunning: 0 });
  expect(await runProgress(deps, aRun())).toMatchObject({ rowsRunning: 1 });
  expect(steps).toEqual(['looked what is running', 'counted at rest', 'looked what is running', 'counted']);
});

test('the rows that run are never more than the concurrency, as it is now', async () => {
  const running = { board: 12, leased: 9 };
  const deps: ProgressDeps = {
    tally: async () => ({ rows: 2, failed: 0, scores: 0, usage: noUsage }),
    metricNames: async () => [],
    board: { publish: async () => undefined, rowsRunning: async () => running.board },
    leased: async () => running.leased,
    times: async () => ({ startedAt: null, endedAt: null, error: null, message: null }),
  };
  const shown = async (concurrency: number, kind: 'module' | 'caller_function') => {
    const runner = kind === 'module' ? { kind, name: 'echo' } : ({ kind } as const);
    return (await runProgress(deps, aRun({ runner, settings: { ...defaultRunSettings, concurrency } }))).rowsRunning;
  };
  // Two chunks of which one has not said yet that the other took its slots; then a limit that was lowered.
  expect([await shown(20, 'module'), await shown(8, 'module'), await shown(3, 'module')]).toEqual([12, 8, 3]);
  // Rows stay with a caller when their chunk has ended.
  running.board = 0;
  expect([await shown(20, 'caller_function'), await shown(4, 'caller_function')]).toEqual([9, 4]);
});

describe('a result that the store does not take', () => {
  type Written = Parameters<RunRowsDeps['log']['write']>[1];

  /** Runs three rows over a store that does `write`. @returns what it took, and the unknown errors that were reported */
  async function recordedBy(write: (traces: Written) => Promise<void>) {
    const run = aRun();
    const [taken, reported]: [Map<string, string>, unknown[]] = [new Map(), []];
    const deps: RunRowsDeps = {
      rows: { page: rowsOf, traceIds: idsOf, chosen: async () => [] },
      log: {
        recorded: async () => new Map(),
        async write(_run, traces) {
          await write(traces);
          for (const trace of traces) taken.set(trace.input as string, trace.output as string);
        },
      },
      attempts: { note: () => undefined, flush: async () => undefined },
      runner: {
        run: async (row) => ({ output: `answer to ${row.input}`, spans: [], startedAt: new Date(), durationNs: 1, attempts: 1 }),
        close: async () => undefined,
      },
      memory: new RowMemory(1_000),
      takeSlot: async () => () => undefined,
      lanes: () => 10,
      confirm: async () => undefined,
      handOver: async () => undefined,
      onLate: () => undefined,
      untilStored: (operation, signal) => untilStored(operation, signal, (err) => reported.push(err)),
      onProgress: () => undefined,
    };
    const outcome = await runRows(deps, run, chunkOf(run), 1, never, async () => undefined);
    expect(outcome).toEqual({ takenTo: 3, recorded: 3 });
    return { taken: Object.fromEntries(taken), reported };
  }

  const answers = { q0: 'answer to q0', q1: 'answer to q1', q2: 'answer to q2' };

  test.each([
    ['of the engine that nobody has classed', new Error('Code: 999. Something new')],
    ['of our own making', new TypeError('undefined is not a function')],
  ])('an error %s costs no result: it is reported and tried again', async (_what, err) => {
    let failures = 2;
    const { taken, reported } = await recordedBy(async () => {
      if (failures-- > 0) throw err;
    });
    expect(taken).toEqual(answers);
    expect(reported).toEqual([err, err]);
  });

  test('a store that is away, or has too much to do, costs no result either', async () => {
    const errors = [new ServiceError('Unavailable', 'away'), new ServiceError('QueryTooExpensive', 'too much')];
    const { taken, reported } = await recordedBy(async () => {
      const err = errors.pop();
      if (err) throw err;
    });
    expect(taken).toEqual(answers);
    expect(reported).toEqual([]);
  });

  test('what the store refuses for its content costs that row alone', async () => {
    const { taken } = await recordedBy(async (traces) => {
      if (traces.some(({ output }) => output === 'answer to q1'))
        throw new RequestInvalid([{ loc: ['body'], msg: 'too odd', type: 'odd' }]);
    });
    expect(taken).toMatchObject({ q0: answers.q0, q2: answers.q2 });
    expect(taken.q1).not.toBe(answers.q1);
  });

  describe('an error that nobody has classed and that does not pass', () => {
    /** Records three rows over a store that does `write`, without the pauses between tries. */
    async function recording(write: (traces: Written) => void) {
      const run = aRun();
      const taken: Record<string, string> = {};
      const log = {
        recorded: async () => new Map(),
        async write(_run: ExperimentRun, traces: Written) {
          write(traces);
          for (const { input, output, error_message } of traces) taken[input as string] = error_message || (output as string);
        },
      };
      const again = async <T>(operation: () => Promise<T>): Promise<T> => {
        for (;;) {
          try {
            return await operation();
          } catch (err) {
            if (err instanceof ServiceError) throw err;
          }
        }
      };
      const rows = await rowsOf(run, 0, 3);
      const result = (input: string) => ({
        output: `answer to ${input}`,
        spans: [],
        startedAt: new Date(),
        durationNs: 1,
        attempts: 1,
      });
      const ended = rows.map((row) => ({ row, result: result(row.input) }));
      await recordRows({ log, untilStored: again }, run, 1, never)(ended);
      return taken;
    }
    const odd = new TypeError('of an odd form');

    test('costs the content of the row that it comes from', async () => {
      const taken = await recording((traces) => {
        if (traces.some(({ output }) => output === 'answer to q1')) throw odd;
      });
      expect(taken).toEqual({ ...answers, q1: expect.stringContaining('of an odd form') });
    });

    test('ends the run where it is the store’s, with the reason', async () => {
      const recorded = recording(() => {
        throw odd;
      });
      await expect(recorded).rejects.toMatchObject({ permanent: true, message: expect.stringContaining('of an odd form') });
    });

    test('a result too large for an insert is recorded without its content', async () => {
      const run = aRun();
      const written: Written[] = [];
      const log = {
        recorded: async () => new Map(),
        write: async (_run: ExperimentRun, traces: Written) => void written.push(traces),
      };
      const [row] = await rowsOf(run, 0, 1);
      const result = { output: 'x'.repeat(70_000_000), spans: [], startedAt: new Date(), durationNs: 1, attempts: 1 };
      await recordRows({ log, untilStored: (operation) => operation() }, run, 1, never)([{ row: row as ExperimentRow, result }]);
      expect(written[0]).toMatchObject([{ output: null, error_message: expect.stringContaining('at most 64 MB') }]);
    });
  });

  test('a look-up that fails after the write does not speak against the write', async () => {
    const odd = new RequestInvalid([{ loc: ['body'], msg: 'not the row’s fault', type: 'odd' }]);
    const looks = vi.fn(async () => true).mockRejectedValueOnce(odd);
    const keep = keepUnlessDeleted({ exists: looks, deleteRecords: async () => undefined });
    const { taken } = await recordedBy(() => keep(aRun(), async () => undefined));
    expect(taken).toEqual(answers);
    expect(looks.mock.calls.length).toBeGreaterThan(1);
  });
});

/** A ledger of these runs, and workflows that all answer, but for what is given. */
function around(runs: ExperimentRun[], workflows: Partial<RunWorkflows> = {}) {
  const ledger: Pick<RunLedger, 'find' | 'setState' | 'times' | 'unended'> = {
    find: async (id) => runs.find(({ experimentId }) => experimentId === id),
    async setState(id, from, to) {
      const run = runs.find(({ experimentId, state }) => experimentId === id && from.includes(state));
      if (run) run.state = to;
      return run !== undefined;
    },
    times: async () => ({ startedAt: null, endedAt: null, error: null, message: 'too many failed' }),
    unended: async () => runs,
  };
  const idle: RunWorkflows = {
    start: async () => undefined,
    status: async () => ({ kind: 'absent' }),
    signal: async () => undefined,
    cancel: async () => undefined,
    progress: async () => undefined,
    rowWorkers: async () => 1,
    keepActivity: async () => true,
  };
  return { ledger: ledger as RunLedger, workflows: { ...idle, ...workflows } };
}

test('a run that cannot be looked after holds up no other; a paused one that was lost is paused again', async () => {
  const [broken, lost, paused] = [aRun({ workflowId: 'broken' }), aRun(), aRun({ state: 'paused' })];
  const signals: unknown[] = [];
  const deps = around([broken, lost, paused], {
    async status({ workflowId }) {
      if (workflowId === broken.workflowId) throw new ServiceError('Unavailable', 'no answer');
      return { kind: 'absent' };
    },
    signal: async ({ workflowId }, ...asked) => void signals.push([workflowId, ...asked]),
  });
  const [started, failed]: [string[], string[]] = [[], []];
  await reconcileRuns(
    { ...deps, settle: async () => null, notify: () => undefined },
    {
      started: (run) => started.push(run.experimentId),
      ended: () => undefined,
      stuck: () => undefined,
      failed: (run) => failed.push(run.experimentId),
    },
  );
  expect(started.sort()).toEqual([lost.experimentId, paused.experimentId].sort());
  expect(failed).toEqual([broken.experimentId]);
  expect(signals).toEqual([[paused.workflowId, 'pause', 'too many failed']]);
});

test.each([
  ['pause', 'running'],
  ['pause', 'requested'],
  ['resume', 'paused'],
] as const)('a %s that the workflow service does not take leaves the run %s', async (what, state) => {
  const run = aRun({ state });
  const away = new ServiceError('Unavailable', 'no answer');
  const control = runControl(around([run], { signal: () => Promise.reject(away) }));
  await expect(control[what]({ ...run })).rejects.toBe(away);
  expect(run.state).toBe(state);
});

test('a chunk of a caller gives its rows back after its time, so that the run can go on with a new history', async () => {
  const run = aRun({ runner: { kind: 'caller_function' } });
  let now = 0;
  const withdrawn: unknown[] = [];
  const deps = {
    rows: { page: rowsOf, traceIds: idsOf },
    log: { recorded: async () => new Map() },
    offered: {
      offer: async () => undefined,
      takeFinished: async () => (now === 0 ? [0] : []),
      running: async () => 0,
      secondsSinceCaller: async () => 0,
      withdrawUnheld: async (...asked: unknown[]) => void withdrawn.push(asked),
    },
    notices: {
      notify: () => undefined,
      async wait() {
        now += 300_000;
      },
    },
    untilStored: <T>(operation: () => Promise<T>) => operation(),
    onProgress: () => undefined,
    now: () => now,
    mustGiveUp: async () => undefined,
  } as unknown as OfferDeps;
  expect(await offerRows(deps, run, chunkOf(run), 1, never)).toEqual({ takenTo: 1, recorded: 1 });
  expect(withdrawn).toEqual([[run.experimentId, 0, 3]]);
});

describe('the last step of a run', () => {
  const ends: unknown[][] = [];
  const executed = (settle: Error, attempt: number, run = aRun()) => {
    ends.length = 0;
    const { ledger, workflows } = around([run]);
    const activities = createActivities(
      {
        ledger: { ...ledger, end: async (...asked: unknown[]) => void ends.push(asked) },
        workflows,
        settleRecords: () => Promise.reject(settle),
        countRows: async () => ({ rows: 3, failedRows: 0, costUsd: 0 }),
        notices: { notify: () => undefined },
        log: pino({ level: 'silent' }),
      } as unknown as ActivityDeps,
      never,
    );
    const ref = { experimentId: run.experimentId, projectId: run.projectId, number: run.workflowNumber };
    const context = { info: { attempt }, heartbeat: () => undefined } as unknown as Context;
    return {
      finish: () => asyncLocalStorage.run(context, () => activities.finishExperiment(ref)),
      end: () => asyncLocalStorage.run(context, () => activities.endExperiment(ref, 'failed', 'no\u0000 model')),
    };
  };
  const tooMuch = new ServiceError('QueryTooExpensive', 'the query ran into its memory limit');

  test('aggregates that are too expensive are tried again, and again', async () => {
    await expect(executed(tooMuch, 1).finish()).rejects.toBe(tooMuch); // not marked as one that cannot be repeated
    expect(ends).toEqual([]);
  });

  test('without them the run ends all the same, and says so', async () => {
    await executed(tooMuch, 10).finish();
    const error = 'the aggregates could not be computed: the query ran into its memory limit';
    expect(ends[0]?.slice(2)).toEqual(['completed', { aggregates: null, error }]);
    await executed(new Error('odd'), 10).end();
    const both = 'no model; the aggregates could not be computed: an internal error, see the log';
    expect(ends[0]?.slice(2)).toEqual(['failed', { aggregates: null, error: both }]);
  });

  test('a store that is away is waited for', async () => {
    const away = new ServiceError('Unavailable', 'away');
    await expect(executed(away, 50).finish()).rejects.toBe(away);
    expect(ends).toEqual([]);
  });
});

describe('what passes by itself is told from what does not', () => {
  test.each([
    ['the page of a proxy', 502, '<html><title>502 Bad Gateway</title></html>', 'Unavailable'],
    ['an empty answer of a proxy', 503, '', 'Unavailable'],
    [
      'a table without its keeper',
      500,
      'Code: 242. DB::Exception: Table is in readonly mode. (TABLE_IS_READ_ONLY)',
      'Unavailable',
    ],
    ['a lost keeper', 500, 'Code: 999. DB::Exception: Connection loss. (KEEPER_EXCEPTION)', 'Unavailable'],
    ['a full disk', 500, 'Code: 75. DB::Exception: Cannot write. (CANNOT_WRITE_TO_FILE_DESCRIPTOR)', 'Unavailable'],
    ['a value that fits no column', 400, 'Code: 6. DB::Exception: Cannot parse string. (CANNOT_PARSE_TEXT)', 'BadRequest'],
    ['a mistake in a statement', 400, 'Code: 62. DB::Exception: Syntax error. (SYNTAX_ERROR)', undefined],
  ])('the record store: %s', async (_what, status, body, code) => {
    const server = createServer((request, response) => {
      request.resume();
      request.on('end', () => response.writeHead(status).end(body));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const store = openClickHouse({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    onTestFinished(() => store.close());
    const err: unknown = await store.insert({ table: 'records', rows: [{ id: 1 }], token: 'one' }).catch((thrown) => thrown);
    expect(err).toBeInstanceOf(Error);
    expect(err instanceof ServiceError ? err.code : undefined).toBe(code);
  });

  test('the metadata store', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'assay-healing-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const database = await openSeededDatabase(join(folder, 'postgres'));
    onTestFinished(() => database.close());
    for (const code of ['57014', '53100', '53200', '53300', '58030', '40001', '40P01', '57P01'])
      await expect(database.exec(`DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '${code}'; END $$`)).rejects.toMatchObject({
        name: 'ServiceError',
        code: 'Unavailable',
      });
  });
});
