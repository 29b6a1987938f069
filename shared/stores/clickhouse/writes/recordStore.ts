import { newId } from '../../../identifiers/ids.ts';
import { usageOf } from '../../../records/countedUsage.ts';
import type { Block, NewKey, PlacedRecord, RecordStore, UsageKey } from '../../../records/recordStore.ts';
import { IN_RUN, runParams, timeOfColumn } from '../binder.ts';
import { type ClickHouse, type NativeInsert, threadsFor } from '../clickHouse.ts';
import { skipUnknownIds } from '../embedded/skipUnknownIds.ts';
import { changesOf, type RunChange } from '../embedded/writtenRuns.ts';
import { inChunks } from '../inChunks.ts';
import { readRecords, recordsById } from '../reads/recordsByKey.ts';
import { keyColumns, toKey } from '../tables/keyRow.ts';
import { NativeBlock, type NativeTypes, nativeTypes } from '../tables/nativeBlock.ts';
import { isStoredSpan, newMembers } from '../tables/newMembers.ts';
import { addRecord, recordRows } from '../tables/recordRow.ts';
import {
  LEFT,
  lateIndexes,
  metricValues,
  recordKeys,
  records as recordTable,
  type Table,
  traceMembers,
} from '../tables/tables.ts';
import { metricValueRow } from './metricValues.ts';
import { removeMisplaced } from './misplacedRows.ts';

/** The record and key tables as the writer needs them. */
export function clickhouseRecordStore(clickhouse: ClickHouse): RecordStore {
  const store: RecordStore = {
    keys: (run, ids) =>
      inChunks(ids, (chunk) =>
        clickhouse.query({
          name: 'record keys',
          sql: `SELECT ${keyColumns}, version FROM record_keys
                WHERE ${IN_RUN} AND id IN {ids:Array(UUID)}
                ORDER BY version DESC LIMIT 1 BY id`,
          params: { ...runParams(run), ids: chunk },
          ...threadsFor(chunk),
          row: (row) => ({ ...toKey(row), version: Number((row as { version: string }).version) }),
        }),
      ),
    spanKeys: (run, traceIds) =>
      inChunks(traceIds, (chunk) =>
        clickhouse.query({
          name: 'span keys of traces',
          sql: `SELECT ${keyColumns} FROM (
                  SELECT ${keyColumns} FROM trace_members
                  WHERE ${IN_RUN} AND trace_id IN {ids:Array(UUID)} AND id != trace_id
                  ORDER BY version DESC LIMIT 1 BY trace_id, id)
                WHERE type != '${LEFT}'`,
          params: { ...runParams(run), ids: chunk },
          ...threadsFor(chunk),
          row: toKey,
        }),
      ),
    usageKeys: (run, traceIds, ids, whole = false) =>
      inChunks(traceIds, (chunk) => {
        const member = `${IN_RUN} AND trace_id IN {traces:Array(UUID)}`;
        return clickhouse.query({
          name: 'usage of traces',
          sql: `SELECT ${keyColumns}, usage, counted_usage, ${IS_APART} AS is_apart FROM (
                  SELECT ${keyColumns}, usage, counted_usage FROM trace_members
                  WHERE ${member} AND id != trace_id
                  ORDER BY version DESC LIMIT 1 BY trace_id, id)
                WHERE type != '${LEFT}' AND (type = 'llm' OR notEmpty(usage) OR is_apart)
                ${whole ? '' : ONE_OF_LIKE}`.replaceAll('MEMBER', member),
          params: { ...runParams(run), traces: chunk, ids },
          ...threadsFor(chunk),
          row: (row) => ({
            ...(row as UsageKey),
            created_at: timeOfColumn((row as UsageKey).created_at),
          }),
        });
      }),
    deleted: (run, ids) =>
      inChunks(ids, (chunk) =>
        clickhouse.query({
          name: 'ids of deleted records',
          sql: `SELECT DISTINCT id FROM deleted_records WHERE ${IN_RUN} AND id IN {ids:Array(UUID)}`,
          params: { ...runParams(run), ids: chunk },
          ...threadsFor(chunk),
          row: (row) => (row as { id: string }).id,
        }),
      ),
    records: (run, keys) => readRecords(clickhouse, run, keys),
    recordsById: (run, ids) => recordsById(clickhouse, run, ids, recordRows(run, undefined, true)),
    places: (run, ids) =>
      recordsById(clickhouse, run, ids, {
        select: 'project_id, run_id, id, type, session_id, trace_id',
        row: (row) => row as PlacedRecord,
      }),
    removeMisplaced: (run, ids) => removeMisplaced(clickhouse, run, ids),
    block({ keys, values, records }) {
      const members = newMembers({ keys, records });
      const steps = [
        [rowsOf(recordKeys, keys, (to, { record }) => addKey(to, record)), rowsOf(traceMembers, members, addMember)],
        [
          rowsOf(metricValues, values, (to, { run, value, version, isRewrite }) =>
            to.add({ ...metricValueRow(run, value, version), is_rewrite: isRewrite }),
          ),
        ],
        [withChanges(rowsOf(recordTable, records, addRecord), changesOf(records))],
      ];
      return blockOf(clickhouse, steps);
    },
  };
  return clickhouse.isEmbedded ? skipUnknownIds(store, clickhouse) : store;
}

const keyFields = ['project_id', 'run_id', 'id', 'created_at', 'type', 'trace_id', 'parent_id', 'session_id', 'version'] as const;

function putKey(to: NativeBlock, record: NewKey['record']): void {
  for (const name of keyFields) to.put(name, record[name] ?? undefined);
}

function addKey(to: NativeBlock, record: NewKey['record']): void {
  putKey(to, record);
  to.endRow();
}

/** A span that has children, or that was asked for. */
const IS_APART =
  '(id IN {ids:Array(UUID)} OR id IN (SELECT assumeNotNull(parent_id) FROM trace_members WHERE MEMBER AND isNotNull(parent_id)))';
/** Takes one of the calls that are alike: each write of a trace of 15,000 calls below one agent read 5 MB. What a former release stored does not say what it used. */
const ONE_OF_LIKE = `LIMIT 1 BY trace_id, is_apart, if(is_apart OR empty(usage), id, assumeNotNull(parent_id)), type,
                  mapContains(usage, 'cost'), length(usage) > 1 + mapContains(usage, 'cost'), counted_usage`;

function addMember(to: NativeBlock, { record, leaves }: NewKey): void {
  if (leaves !== undefined) {
    const { project_id, run_id, id, created_at, session_id, version } = record;
    to.add({ project_id, run_id, trace_id: leaves, id, type: LEFT, created_at, session_id, version });
  }
  if (record.trace_id === null) return;
  putKey(to, record);
  if (isStoredSpan(record)) {
    const usage = usageOf(record);
    if (usage !== undefined) to.put('usage', usage);
    if (record.counted_usage) to.put('counted_usage', record.counted_usage);
  }
  to.endRow();
}

/** Rows of a table made into bytes once: a retry sends the same with the same token. */
function rowsOf<T>(table: Table, rows: readonly T[], add: (to: NativeBlock, row: T) => void): TableRows | undefined {
  if (rows.length === 0) return undefined;
  const block = new NativeBlock(typesOf(table));
  for (const row of rows) add(block, row);
  return { block, insert: { table: table.name, native: block.finish(), token: newId(), lateIndexes: lateIndexes(table) } };
}

const withChanges = (rows: TableRows | undefined, changes: readonly RunChange[]): TableRows | undefined =>
  rows && { ...rows, insert: { ...rows.insert, changes } };

interface TableRows {
  block: NativeBlock;
  insert: NativeInsert;
}

function blockOf(clickhouse: ClickHouse, steps: readonly (readonly (TableRows | undefined)[])[]): Block {
  const tables = steps.map((step) => step.filter((rows) => rows !== undefined)).filter((step) => step.length > 0);
  return {
    async send(confirm) {
      await clickhouse.insertInOrder(
        tables.map((step) => step.map(({ insert }) => insert)),
        confirm,
      );
      for (const { block } of tables.flat()) block.release();
    },
  };
}

const knownTypes = new Map<Table, NativeTypes>();

function typesOf(table: Table): NativeTypes {
  const types = knownTypes.get(table) ?? nativeTypes(table.columns);
  knownTypes.set(table, types);
  return types;
}
