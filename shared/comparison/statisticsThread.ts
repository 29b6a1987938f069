import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PairedResult } from '../statistics/pairedTest.ts';
import type { GivenSample } from './sampleOf.ts';

export interface Resampling {
  seed: number;
  level: number;
}

export interface StatisticsRequest {
  id: number;
  samples: readonly GivenSample[];
  resampling: Resampling;
}

export interface StatisticsAnswer {
  id: number;
  results: (PairedResult | undefined)[];
}

export interface StatisticsThread {
  /** Starts the thread where it does not run, which takes 0.1 s. */
  prepare(): void;
  /** One result for each sample; undefined for one without pairs. */
  pairedTests(
    samples: readonly GivenSample[],
    resampling: Resampling,
    signal?: AbortSignal,
  ): Promise<(PairedResult | undefined)[]>;
  stop(): Promise<void>;
}

/** Samples that the thread is given at a time: those of other callers come in between. */
const SAMPLES_AT_A_TIME = 16;

/** Computes statistics in a thread of its own, which starts with `prepare`, else with the first of them. */
export function statisticsThread(): StatisticsThread {
  let thread: Worker | undefined;
  let requests = 0;
  const waiting = new Map<number, { resolve(answer: StatisticsAnswer): void; reject(err: unknown): void }>();

  const start = (): Worker => {
    const started = new Worker(join(import.meta.dirname, `pairedTests.thread${extname(import.meta.filename)}`), {
      env: {},
      execArgv: [],
    });
    const end = (err: unknown): void => {
      if (thread === started) thread = undefined;
      for (const { reject } of waiting.values()) reject(err);
      waiting.clear();
    };
    started.on('message', (answer: StatisticsAnswer) => {
      waiting.get(answer.id)?.resolve(answer);
      waiting.delete(answer.id);
      if (waiting.size === 0) started.unref();
    });
    started.on('error', end);
    started.on('exit', () => end(new Error('the thread of statistics has ended')));
    started.unref(); // only what is waited for holds the process, and not the listeners
    return started;
  };

  const ask = (samples: readonly GivenSample[], resampling: Resampling): Promise<StatisticsAnswer> => {
    thread ??= start();
    const asked = thread;
    return new Promise((resolve, reject) => {
      const id = requests++;
      waiting.set(id, { resolve, reject });
      asked.ref();
      asked.postMessage({ id, samples, resampling } satisfies StatisticsRequest);
    });
  };

  return {
    prepare() {
      thread ??= start();
    },
    async pairedTests(samples, resampling, signal) {
      const results: (PairedResult | undefined)[] = [];
      for (let from = 0; from < samples.length; from += SAMPLES_AT_A_TIME) {
        signal?.throwIfAborted();
        results.push(...(await ask(samples.slice(from, from + SAMPLES_AT_A_TIME), resampling)).results);
      }
      return results;
    },
    async stop() {
      await thread?.terminate();
    },
  };
}
