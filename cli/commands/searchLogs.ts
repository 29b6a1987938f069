import { jsonWithBigInts } from '../../shared/wire/longNumbers.ts';
import { connect, type ServiceOptions } from '../credentials/connect.ts';
import { cellOf, defaultColumns, isFigure, otherIds, titleOf } from '../output/recordCells.ts';
import { table } from '../output/table.ts';
import { columnsOf, type FilterOptions, recordFilters } from '../records/recordFilters.ts';
import { type Found, recordPages } from '../records/recordPages.ts';
import { type RecordKind, type RunOptions, recordRun } from '../records/recordRun.ts';
import { remark, say, type Terminal, widthOf, write } from '../terminal/terminal.ts';

export interface SearchLogsOptions extends ServiceOptions, RunOptions, FilterOptions {
  json?: boolean;
  kind: RecordKind;
  column?: string[];
  limit: number;
  sort: string;
}

/** Records that fit the filters: a table, or with `--json` a record a line. */
export async function searchLogs(terminal: Terminal, options: SearchLogsOptions): Promise<void> {
  const { kind, limit, json, column, sort } = options;
  const client = await connect(terminal, options);
  const run = await recordRun(client, options);
  const filters = await recordFilters(client, run, kind, options, terminal.signal);
  const columns = column ?? (json ? undefined : [...defaultColumns]);
  const query = {
    ...{ kind, filters, limit, columns, isShort: !json },
    sort: { column_id: sort.replace(/^-/, ''), ascending: !sort.startsWith('-') },
  };
  const found: Found[] = [];
  for await (const records of recordPages(client, run, query, terminal.signal)) {
    if (json) await write(terminal.stdout, records.map((record) => `${jsonWithBigInts(record)}\n`).join(''));
    else found.push(...records);
  }
  if (json) return;
  if (found.length === 0) return remark(terminal, `No ${kind} fits.`);
  const shown = columns ?? [];
  const titles = shown.map((one) => ({ title: titleOf(one), figure: isFigure(one) }));
  const namesMetrics = column?.some((one) => one.startsWith('metrics/')) ?? false;
  const others = namesMetrics ? otherIds(await columnsOf(client, run, kind, terminal.signal)) : undefined;
  const rows = found.map((record) => shown.map((one) => cellOf(record, one, others)));
  await say(terminal, table(titles, rows, widthOf(terminal.stdout, terminal.environment)));
}
