import { mkdirSync } from 'node:fs';
import type { StatementLimits } from '../hungStatements.ts';
import { type ChdbEngine, openChdbEngine } from './chdbEngine.ts';

const ENGINE_BYTES = 3 * 1024 ** 3;

interface EmbeddedEngineOptions {
  /** Most memory that it may take in all. */
  memoryBytes: number | undefined;
  limits: StatementLimits;
  onWait: ((seconds: number) => void) | undefined;
}

/** Opens the embedded engine with its bounds. @throws Error with one clear sentence when another process has the folder open. */
export function openEmbeddedEngine(
  dataDir: string,
  { memoryBytes = ENGINE_BYTES, limits, onWait }: EmbeddedEngineOptions,
): ChdbEngine {
  mkdirSync(dataDir, { recursive: true });
  try {
    return openChdbEngine(dataDir, { engineArguments: engineArguments(memoryBytes), limits, onWait });
  } catch (err) {
    if (err instanceof Error && err.message.includes('Cannot lock file')) {
      throw new Error(`the data folder ${dataDir} is in use by another process`, { cause: err });
    }
    throw err;
  }
}

/**
 * Between rounds of background work the engine sleeps 0.1 to 1.1 s by default. A deletion takes one task for every part of its table, four in a round:
 * in a table of 122 parts it waited 18 s, and 1.7 s with these. An idle engine takes as much CPU as before, since its pauses grow.
 * A server has them from docker/clickhouse/pauses.xml.
 */
export const SHORT_SLEEPS = [
  '--background_processing_pool_thread_sleep_seconds_if_nothing_to_do=0.03',
  '--background_processing_pool_task_sleep_seconds_when_no_work_random_part=0.02',
];

/** Bounds of the embedded engine; its own defaults allow 5 GiB for each of several caches and a thread pool of 10,000. */
const engineArguments = (memoryBytes: number): string[] => [
  `--max_server_memory_usage=${memoryBytes}`,
  '--mark_cache_size=134217728',
  '--index_mark_cache_size=67108864',
  '--primary_index_cache_size=134217728',
  '--uncompressed_cache_size=268435456',
  '--index_uncompressed_cache_size=0',
  // Which granules hold nothing that a condition asks for: a steady ingest filled the engine's own 100 MB for hours, 84 bytes an entry.
  '--query_condition_cache_size=16777216',
  '--background_pool_size=2',
  '--background_schedule_pool_size=2',
  ...SHORT_SLEEPS,
  '--max_thread_pool_size=512',
];
