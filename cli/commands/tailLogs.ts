import { pause } from '../../client/http.ts';
import { ConnectionError, HttpStatusError } from '../../client/index.ts';
import { jsonWithBigInts } from '../../shared/wire/longNumbers.ts';
import { connect, type ServiceOptions } from '../credentials/connect.ts';
import { cellOf, defaultColumns } from '../output/recordCells.ts';
import { cut } from '../output/table.ts';
import { newRecords } from '../records/newRecords.ts';
import { type FilterOptions, recordFilters } from '../records/recordFilters.ts';
import type { Found } from '../records/recordPages.ts';
import { type RecordKind, type RunOptions, recordRun } from '../records/recordRun.ts';
import { remark, say, type Terminal, widthOf, withoutControlCharacters } from '../terminal/terminal.ts';

export interface TailLogsOptions extends ServiceOptions, RunOptions, FilterOptions {
  json?: boolean;
  kind: RecordKind;
  column?: string[];
  lines: number;
}

const BETWEEN_LOOKS_MS = 1_000;
/** Milliseconds without an answer after which the service is given up. */
const MAX_AWAY_MS = 600_000;

/** The newest records, then those that are logged or changed, as they arrive, until Ctrl-C: a line each. A service that is away is waited for. */
export async function tailLogs(terminal: Terminal, options: TailLogsOptions): Promise<never> {
  const { kind, column, json, lines } = options;
  const client = await connect(terminal, options);
  const run = await recordRun(client, options);
  const filters = await recordFilters(client, run, kind, options, terminal.signal);
  const columns = column ?? (json ? undefined : [...defaultColumns]);
  const look = newRecords(client, run, { kind, filters, columns, isShort: !json, first: lines }, terminal.signal);
  const put = (record: Found) => say(terminal, json ? jsonWithBigInts(record) : lineOf(terminal, record, columns ?? []));
  let answeredAt = performance.now();
  let isAway = false;
  for (;;) {
    const lookedAt = performance.now();
    try {
      for await (const records of look()) for (const record of records) await put(record);
      answeredAt = performance.now();
      if (isAway) await remark(terminal, 'The service answers again.');
      isAway = false;
    } catch (err) {
      const mayPass = err instanceof ConnectionError || (err instanceof HttpStatusError && err.status >= 500);
      if (!mayPass || performance.now() - answeredAt > MAX_AWAY_MS) throw err;
      if (!isAway) await remark(terminal, 'The service does not answer; what is logged meanwhile is shown when it does.');
      isAway = true;
    }
    // A service that takes long to answer is asked less often.
    await pause(Math.max(BETWEEN_LOOKS_MS, performance.now() - lookedAt), terminal.signal);
  }
}

function lineOf({ stdout, environment }: Terminal, record: Found, columns: readonly string[]): string {
  const cells = columns.map((column) => withoutControlCharacters(cellOf(record, column)).replaceAll(/\s+/g, ' ').trim());
  return cut(cells.join('  ').trimEnd(), widthOf(stdout, environment));
}
