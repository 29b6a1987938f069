import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createBrotliDecompress } from 'node:zlib';
import type { Progress, RowRecord } from './runs.ts';

/** Data of the previous release, and its own answers about them before it was killed. `test/fixtures/makePreviousRelease.ts` makes it. */
export const archivePath = join(import.meta.dirname, '../fixtures/previousRelease.tar.br');

/** Files that the service is given by its settings, beside the data folder. */
const runnersPath = join(import.meta.dirname, '../fixtures/runners');

/** Rows of each experiment that is half-way; those from `HALF` on have no result, or no score. */
export const ROWS = 120;
export const HALF = 60;
/** Rows of each that were under way when the service was killed. */
export const CONCURRENCY = 10;

export interface PreviousRelease {
  /** The commit that the archive was made by. */
  release: string;
  projectId: string;
  streamId: string;
  judgeId: string;
  /** The process that hosts the function of the experiment `caller`. */
  callerProcess: string;
  /** Experiments by name. */
  experiments: Record<'ended' | 'paused' | 'running' | 'cancelled' | 'caller' | 'scored', string>;
  ended: { progress: Progress; traces: RowRecord[] };
  /** Rows of `scored` whose score was stored. */
  scoredInputs: string[];
  stream: StreamTrace[];
}

export interface StreamTrace {
  id: string;
  input: string;
  output: string;
  metric_info: RowRecord['metric_info'];
}

export const isScored = ({ metric_info }: Pick<RowRecord, 'metric_info'>, metric: string): boolean =>
  metric_info?.[metric]?.status_type === 'success';

/** The module that runs rows, or a model of the handler. */
type Caller = 'rows' | 'writer' | 'judge';

/** The settings of a service on the folder: the runner modules and the model handler are in `runners`. */
export async function runnersIn(folder: string) {
  const runners = join(folder, 'runners');
  await cp(runnersPath, runners, { recursive: true });
  const hold = (...calls: `${Caller}:${string}`[]) => writeFile(join(runners, 'hold'), calls.join(' '));
  await hold();
  return {
    /** ADMIN_API_KEY is empty: the key is the one in the folder's own credentials. */
    environment: { RUNNERS_DIR: runners, HANDLERS_DIR: runners, ADMIN_API_KEY: '' },
    /** Calls for these experiments do not end from row `HALF` on. */
    hold,
    /** Inputs that were run, in order. */
    calls: async (by: Caller): Promise<string[]> =>
      (await readFile(join(runners, `${by}.txt`), 'utf8').catch(() => '')).split('\n').filter(Boolean),
  };
}

export const apiKeyIn = async (dataDir: string): Promise<string> =>
  (JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8')) as { api_key: string }).api_key;

/** Unpacks the archive; the data folder is `data` in it. Through a file, since `tar` closes its input when it has read all that it needs of it. */
export async function unpackPreviousRelease(folder: string): Promise<PreviousRelease> {
  const archive = join(folder, 'archive.tar');
  await pipeline(createReadStream(archivePath), createBrotliDecompress(), createWriteStream(archive));
  await promisify(execFile)('tar', ['-xf', archive, '-C', folder]);
  await rm(archive);
  return JSON.parse(await readFile(join(folder, 'facts.json'), 'utf8')) as PreviousRelease;
}
