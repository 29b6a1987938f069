import type { ClickHouse } from './clickHouse.ts';
import { clickHouseOver } from './clickHouseOver.ts';
import { openEmbeddedEngine } from './embedded/embeddedEngine.ts';
import { embeddedTransport } from './embedded/embeddedTransport.ts';
import { type StatementHangs, type StatementLimits, statementLimits } from './hungStatements.ts';
import { serverTransport } from './server/serverTransport.ts';

export interface ClickHouseOptions {
  /** A server's URL, with user, password and database in it. */
  url?: string | undefined;
  /** Most connections to the server; 10 when absent. */
  connections?: number;
  /** Folder of the embedded engine; used when there is no `url`. */
  dataDir?: string | undefined;
  /** Most memory one query may take, in bytes: 512 MiB in the embedded engine, 2 GiB on a server when absent. */
  queryMemoryBytes?: number;
  /** Most memory the embedded engine may take in all, in bytes. */
  engineMemoryBytes?: number;
  /** Hears of every statement that was not answered in its time; its caller gets `Unavailable`. */
  onHang?: ((name: string, err: StatementHangs) => void) | undefined;
  /** Hears of every insert, when it has ended: of its table, the last of several, the seconds it took, and whether it was stored. */
  onInsert?: ((table: string, seconds: number, stored: boolean) => void) | undefined;
  /** Gets the seconds that a statement waited for a connection, or for its turn in the embedded engine. */
  onWait?: ((seconds: number) => void) | undefined;
  /** Stale rows of a run that a statement of the embedded engine names; of more it keeps a table. */
  namedVersions?: number;
  /** When statements are given up; `statementLimits` where absent. */
  limits?: Partial<StatementLimits>;
}

const GiB = 1024 ** 3;
/** Four statements of callers run at once in the embedded engine: together they stay below its bound, with room for inserts, merges and caches. */
const EMBEDDED_QUERY_BYTES = GiB / 2;
const SERVER_QUERY_BYTES = 2 * GiB;

/**
 * Opens the server at `url`, or the embedded engine in `dataDir` (created when absent).
 * @throws Error with one clear sentence when another process has the folder open or the URL is wrong.
 */
export function openClickHouse(options: ClickHouseOptions): ClickHouse {
  const { url, dataDir, connections, namedVersions, onHang, onInsert, onWait } = options;
  const { engineMemoryBytes: memoryBytes, queryMemoryBytes = url ? SERVER_QUERY_BYTES : EMBEDDED_QUERY_BYTES } = options;
  const limits = { ...statementLimits, ...options.limits };
  const open = () => {
    if (url) return serverTransport({ url, connections, limits, onWait });
    if (!dataDir) throw new Error('openClickHouse needs a url or a dataDir');
    return embeddedTransport(openEmbeddedEngine(dataDir, { memoryBytes, limits, onWait }));
  };
  return clickHouseOver(open(), { queryMemoryBytes, deletionSeconds: limits.statementSeconds, namedVersions, onHang, onInsert });
}
