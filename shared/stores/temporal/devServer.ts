import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { z } from 'zod';
import { childEnvironment, type Environment } from '../../childProcesses/childEnvironment.ts';
import { assertFree, freePort } from '../../childProcesses/freePort.ts';
import { ServiceError } from '../../errors/errors.ts';
import { searchAttributes } from '../../experiments/workflow.ts';
import { checkDatabaseFile, ifDamaged } from './databaseFile.ts';
import { type ProcessIdentity, processIdentity } from './processIdentity.ts';
import { startWatchdog } from './watchdog.ts';

export interface TemporalDevServerOptions {
  /** The program: `findTemporal`. */
  path: string;
  /** Holds the database, the log and the state file. One service at a time owns it. */
  dataDir: string;
  ip: string;
  /** 0 picks a free one. */
  port: number;
  /** 0 picks a free one. */
  uiPort: number;
  namespace: string;
  /** The environment of the service; little of it reaches the server. */
  environment: Environment;
  log: { info(message: string): void; warn(message: string): void };
}

export interface TemporalDevServer {
  /** `host:port` for clients and workers. */
  readonly address: string;
  readonly uiUrl: string;
  /** Changes when the server was restarted after a crash. */
  readonly pid: number;
  /** The guard that ends the server when this process dies. */
  readonly watchdogPid: number;
  /** Ends the server and its guard; gone when it resolves. */
  stop(): Promise<void>;
  /** Resolves when `stop` has ended the server; a crash is healed by a restart and is not an end. */
  readonly exited: Promise<void>;
}

/**
 * The transfer queue carries every task from history to matching; its reader loads at most `transferProcessorMaxPollRPS` times a second, 20 by
 * default, whatever one load brings. That is the wait of 40 to 47 ms before each task of a workflow that runs step by step. Measured on two
 * cores, 30 activities in a row (workflow task and activity each): 83.5 ms per activity at 20/s, 13.4 ms at 2,000/s; with eager activities
 * 26.9 ms and 8 to 12 ms. 300 activities by 100 at once: 440/s either way. Timers (sleeps, retries) and visibility have the same limit.
 */
const QUEUE_LOADS_PER_SECOND = 2_000;

/**
 * Workflows whose state the server keeps in memory, 80 KB each and as much again until it is collected. Its own limit is 128,000, and workflows that
 * have ended stay until it is reached. One that is no longer kept is read from the database. 400 runs that start at once do not fill the cache with
 * workflows that are in use, for which the server would answer an error.
 */
const CACHED_WORKFLOWS = 128;

/**
 * Goroutines that wait for tasks of one kind, each with a stack of its own, busy or not: of 512 each, as for a cluster, they take 20 MB. All write
 * to one SQLite database, one after the other.
 */
const TASK_WORKERS = 16;

const dynamicConfig = {
  'history.hostLevelCacheMaxSize': CACHED_WORKFLOWS,
  'history.transferProcessorMaxPollRPS': QUEUE_LOADS_PER_SECOND,
  'history.timerProcessorMaxPollRPS': QUEUE_LOADS_PER_SECOND,
  'history.visibilityProcessorMaxPollRPS': QUEUE_LOADS_PER_SECOND,
  'history.transferProcessorSchedulerWorkerCount': TASK_WORKERS,
  'history.timerProcessorSchedulerWorkerCount': TASK_WORKERS,
  'history.memoryTimerProcessorSchedulerWorkerCount': TASK_WORKERS,
  'history.visibilityProcessorSchedulerWorkerCount': TASK_WORKERS,
  'history.archivalProcessorSchedulerWorkerCount': TASK_WORKERS,
  'history.ReplicationProcessorSchedulerWorkerCount': 1, // there is no other cluster
  'history.ReplicationLowPriorityProcessorSchedulerWorkerCount': 1,
  // One partition: with four, a poll waits at a partition without tasks while the task waits at another.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // The worker that schedules an activity gets it with the same answer, without a poll.
  'system.enableActivityEagerExecution': true,
  // Its HTTP API, at a port that it picks: no name that a page of another site was loaded by.
  'frontend.httpAllowedHosts': ['127.0.0.1:*', 'localhost:*'],
};

/** Milliseconds after its first answer in which a new server has registered what its command line names. */
const REGISTERED_MS = 2_000;

/** The first start writes its schema; on a slow disk that takes seconds. */
const READY_MS = 60_000;
const READY_CHECK_EVERY_MS = 50;
/** A server that ignores SIGTERM for so long is killed. */
const END_MS = 4_000;
/** The former server's guard needs up to this to end it. */
const FORMER_END_MS = 5_000;
const RESTART_MIN_MS = 200;
const RESTART_MAX_MS = 5_000;
/** At level `error` it writes little; a log that grew past this starts anew with the next start. */
const MAX_LOG_BYTES = 10_000_000;
const LOG_TAIL_LINES = 15;

/** Names the process of the server and the one that owns it, so that a start after a crash can distinguish its own former server from any other process. */
const State = z.object({
  server: z.object({ pid: z.number(), startedAt: z.string(), command: z.string() }),
  owner: z.object({ pid: z.number(), startedAt: z.string() }),
});

/**
 * Starts Temporal's dev server with its database under `dataDir` and resolves when it answers. It ends when this process dies, however
 * that happens, and is started again on the same port and database when it dies alone.
 * @throws ServiceError `Unavailable` when a port is taken, another live process owns `dataDir`, or the server dies at start (with its log's end).
 */
export async function startTemporalDevServer(options: TemporalDevServerOptions): Promise<TemporalDevServer> {
  const { path, dataDir, ip, namespace, log } = options;
  const stateFile = join(dataDir, 'temporal-state.json');
  const logFile = join(dataDir, 'temporal.log');
  await mkdir(dataDir, { recursive: true });
  await endFormerServer(stateFile, dataDir, log);
  const port = await portOf(ip, options.port, 'TEMPORAL_PORT');
  const uiPort = await portOf(ip, options.uiPort, 'TEMPORAL_UI_PORT');
  const address = `${ip}:${port}`;
  const database = join(dataDir, 'temporal.sqlite');
  checkDatabaseFile(database, log);
  const args = serverArguments({ ip, port, uiPort, namespace, database });
  const owner = await processIdentity(process.pid, process.platform);
  const watchdog = startWatchdog(childEnvironment(options.environment));
  const stopping = new AbortController();

  async function launch(): Promise<{ child: ChildProcess; gone: Promise<string> }> {
    const logStart = await sizeToKeep(logFile);
    const out = openSync(logFile, logStart === 0 ? 'w' : 'a');
    const child = watchdog.spawn(path, args, { stdout: out, stderr: out });
    closeSync(out); // the child has its own copy
    const gone = whyGone(child);
    try {
      const identity = child.pid === undefined ? undefined : await processIdentity(child.pid, process.platform);
      if (identity !== undefined && owner !== undefined) {
        // The command as it will be: right after the spawn it may still be the shell's.
        const server = { pid: child.pid, startedAt: identity.startedAt, command: [path, ...args].join(' ') };
        writeFileSync(stateFile, JSON.stringify({ server, owner: { pid: process.pid, startedAt: owner.startedAt } }));
      }
      const dead = await Promise.race([gone, untilReady(address, namespace, gone)]);
      if (dead === undefined) return { child, gone };
      throw new ServiceError(
        'Unavailable',
        `Temporal's server ended at its start (${dead}). The end of ${logFile}:\n${await tail(logFile, logStart)}\n${ifDamaged(database)}`,
      );
    } catch (err) {
      await end(child, gone);
      throw err;
    }
  }

  let server: Awaited<ReturnType<typeof launch>>;
  try {
    server = await launch();
  } catch (err) {
    await watchdog.end();
    await rm(stateFile, { force: true });
    throw err;
  }

  async function keepRunning(): Promise<void> {
    for (let wait = RESTART_MIN_MS; ; ) {
      const reason = await server.gone;
      if (stopping.signal.aborted) return;
      log.warn(`Temporal's server ended (${reason}); starting it again`);
      while (!stopping.signal.aborted) {
        await delay(wait, undefined, { signal: stopping.signal }).catch(() => {}); // an abort is seen by the loop
        if (stopping.signal.aborted) return;
        try {
          server = await launch();
          log.info(`Temporal's server answers again at ${address}`);
          wait = RESTART_MIN_MS;
          break;
        } catch (err) {
          wait = Math.min(wait * 2, RESTART_MAX_MS);
          log.warn(
            `Temporal's server did not start, next try in ${wait} ms: ${err instanceof Error ? err.message : String(err)}`,
          );
        }
      }
    }
  }
  const kept = keepRunning();
  const stopped = Promise.withResolvers<void>();

  return {
    address,
    uiUrl: `http://${ip}:${uiPort}`,
    get pid() {
      return server.child.pid ?? -1;
    },
    get watchdogPid() {
      return watchdog.pid;
    },
    async stop() {
      if (!stopping.signal.aborted) {
        stopping.abort();
        await end(server.child, server.gone);
        await watchdog.end(); // and with it a restart that is under way
        await kept;
        await rm(stateFile, { force: true });
        stopped.resolve();
      }
      await stopped.promise;
    },
    exited: stopped.promise,
  };
}

function serverArguments(server: { ip: string; port: number; uiPort: number; namespace: string; database: string }): string[] {
  const each = (flag: string, values: string[]) => values.flatMap((value) => [flag, value]);
  return [
    ...['server', 'start-dev', '--ip', server.ip, '--port', String(server.port), '--ui-port', String(server.uiPort)],
    ...['--namespace', server.namespace, '--db-filename', server.database, '--log-level', 'error'],
    // A write-ahead log without a sync per commit: safe against SIGKILL. A power failure may take the last moments, as of all embedded stores.
    ...each('--sqlite-pragma', ['journal_mode=WAL', 'synchronous=NORMAL']),
    ...each(
      '--search-attribute',
      Object.entries(searchAttributes).map(([name, type]) => `${name}=${type}`),
    ),
    ...each(
      '--dynamic-config-value',
      Object.entries(dynamicConfig).map(([key, value]) => `${key}=${JSON.stringify(value)}`),
    ),
  ];
}

/**
 * Resolves to undefined when the server answers for the namespace and knows our search attributes, or does not get to know them by itself: a database of a
 * former release lacks those that came later, and is prepared as a server of others is. Gives up when `gone` settles first.
 */
async function untilReady(address: string, namespace: string, gone: Promise<string>): Promise<undefined> {
  let over = false;
  void gone.then(() => {
    over = true;
  });
  // gRPC's own back-off starts at 1 s; the server is up in 0.2 to 0.4 s.
  const channelArgs = {
    'grpc.initial_reconnect_backoff_ms': READY_CHECK_EVERY_MS,
    'grpc.max_reconnect_backoff_ms': READY_CHECK_EVERY_MS,
  };
  const connection = Connection.lazy({ address, channelArgs });
  const deadline = Date.now() + READY_MS;
  let answeredAt: number | undefined;
  try {
    for (;;) {
      try {
        const { config } = await connection.withDeadline(Date.now() + 2_000, () =>
          connection.workflowService.describeNamespace({ namespace }),
        );
        const registered = Object.values(config?.customSearchAttributeAliases ?? {});
        const missing = Object.keys(searchAttributes).filter((name) => !registered.includes(name));
        answeredAt ??= Date.now();
        if (missing.length === 0 || Date.now() - answeredAt > REGISTERED_MS) return undefined;
        throw new Error(`the search attributes ${missing.join(', ')} are not registered`);
      } catch (cause) {
        if (over) return undefined; // the caller has the answer of `gone`
        if (Date.now() > deadline) {
          throw new ServiceError('Unavailable', `Temporal's server at ${address} did not answer within ${READY_MS / 1_000} s`, {
            cause,
          });
        }
      }
      await delay(READY_CHECK_EVERY_MS);
    }
  } finally {
    await connection.close();
  }
}

/** Resolves when the process has ended, or could not be started, to the words for it. */
function whyGone(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (err) => resolve(err.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : signal));
  });
}

async function end(child: ChildProcess, gone: Promise<string>): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await gone;
  clearTimeout(timer);
}

/**
 * After a kill of this service and its guard together the server is left over, holding port and database. It is known by pid, start time
 * and command line; its guard, if it lives, gets its time first.
 */
async function endFormerServer(stateFile: string, dataDir: string, log: TemporalDevServerOptions['log']): Promise<void> {
  const state = await readState(stateFile);
  if (state === undefined) return;
  const { server, owner } = state;
  const ownerNow = await processIdentity(owner.pid, process.platform);
  const serverRuns = async () => {
    const now: ProcessIdentity | undefined = await processIdentity(server.pid, process.platform);
    return now?.startedAt === server.startedAt && now.command === server.command;
  };
  if (ownerNow?.startedAt === owner.startedAt && (await serverRuns())) {
    throw new ServiceError(
      'Unavailable',
      `process ${owner.pid} already runs Temporal's server on ${dataDir}: end it, or set DATA_DIR to another folder`,
    );
  }
  const patience = Date.now() + FORMER_END_MS;
  while (await serverRuns()) {
    if (Date.now() > patience) {
      log.warn(`ending Temporal's server (process ${server.pid}) that a former run has left`);
      process.kill(server.pid, 'SIGKILL');
      while (await serverRuns()) await delay(READY_CHECK_EVERY_MS);
    }
    await delay(READY_CHECK_EVERY_MS);
  }
  await rm(stateFile, { force: true });
}

async function readState(stateFile: string): Promise<z.output<typeof State> | undefined> {
  try {
    return State.parse(JSON.parse(await readFile(stateFile, 'utf8')));
  } catch {
    return undefined; // none, or cut off by a crash while it was written: then nothing can be known for certain
  }
}

/** The port asked for, or for 0 a free one. */
async function portOf(ip: string, port: number, variable: string): Promise<number> {
  if (port === 0) return freePort(ip);
  try {
    await assertFree(port, ip);
  } catch (cause) {
    const message = `port ${port} on ${ip} is taken: end what listens there, or set ${variable} to another port (0 picks a free one)`;
    throw new ServiceError('Unavailable', message, { cause });
  }
  return port;
}

async function sizeToKeep(logFile: string): Promise<number> {
  const size = await stat(logFile).then(
    (found) => found.size,
    () => 0,
  );
  return size > MAX_LOG_BYTES ? 0 : size;
}

async function tail(logFile: string, from: number): Promise<string> {
  const file = await open(logFile);
  try {
    const { size } = await file.stat();
    const start = Math.max(from, size - 20_000);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start });
    return buffer.toString('utf8', 0, bytesRead).trim().split('\n').slice(-LOG_TAIL_LINES).join('\n');
  } finally {
    await file.close();
  }
}
