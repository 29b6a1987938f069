import { mappedColumnNames, rowMapping } from '../../shared/datasets/columnMapping.ts';
import { cellsByName, type DatasetDeps } from '../../shared/datasets/createDataset.ts';
import type { Column, DatasetVersion, StoredRow } from '../../shared/datasets/dataset.ts';
import { type PageRequest, pageFields } from '../../shared/wire/common.ts';
import type { ColumnMapping, UserInfo } from '../../shared/wire/datasets.ts';
import { Reply } from '../http/route.ts';

export interface LocatedRow {
  row: StoredRow;
  index: number;
}

export async function* locate(pages: AsyncIterable<StoredRow[]>, from: number): AsyncGenerator<LocatedRow[], void> {
  let index = from;
  for await (const page of pages) {
    yield page.map((row, step) => ({ row, index: index + step }));
    index += page.length;
  }
}

/** A page of rows, written while it is read: 100,000 rows are never in memory together. */
export function datasetPage(
  datasets: DatasetDeps['datasets'],
  version: DatasetVersion,
  { page, count, total }: { page: PageRequest; count: number; total: number },
  pages: AsyncIterable<LocatedRow[]>,
  mapping?: ColumnMapping,
): Reply {
  const columnNames = mappedColumnNames(
    mapping,
    version.columns.map(({ name }) => name),
  );
  const mapRow = rowMapping(mapping);
  const head = {
    ...pageFields(page, count, page.starting_token + count < total),
    column_names: columnNames,
    warning_message: null,
  };
  const text = async function* () {
    // It goes out with the first row: where no row can be read, that is an error and not a page that breaks off.
    let before = `${JSON.stringify(head).slice(0, -1)},"rows":[`;
    for await (const located of pages) {
      const users = await datasets.users([...new Set(located.flatMap(({ row }) => [row.createdBy, row.updatedBy]))]);
      for (const one of located) {
        yield before + JSON.stringify(toRowResponse(one, version.columns, columnNames, mapRow, users));
        before = ',';
      }
    }
    yield before === ',' ? ']}' : `${before}]}`;
  };
  return new Reply({
    stream: text(),
    headers: { 'Content-Type': 'application/json; charset=utf-8', ETag: etagOf(version) },
  });
}

function toRowResponse(
  { row, index }: LocatedRow,
  columns: readonly Column[],
  columnNames: readonly string[],
  mapRow: ReturnType<typeof rowMapping>,
  users: ReadonlyMap<string, UserInfo>,
) {
  const cells = new Map(mapRow(cellsByName(row, columns)));
  const values = columnNames.map((name) => cells.get(name) ?? null);
  return {
    row_id: row.rowId,
    index,
    values,
    values_dict: Object.fromEntries(columnNames.map((name, at) => [name, values[at]])),
    metadata: rowMetadata(row, users),
  };
}

export const rowMetadata = (row: StoredRow, users: ReadonlyMap<string, UserInfo>) => ({
  created_in_version: row.createdInVersion,
  created_at: row.createdAt,
  created_by_user: users.get(row.createdBy) ?? null,
  updated_in_version: row.updatedInVersion,
  updated_at: row.updatedAt,
  updated_by_user: users.get(row.updatedBy) ?? null,
});

export const etagOf = ({ datasetId, versionIndex }: Pick<DatasetVersion, 'datasetId' | 'versionIndex'>) =>
  `"${datasetId}.${versionIndex}"`;
