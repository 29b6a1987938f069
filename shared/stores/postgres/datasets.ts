import { z } from 'zod';
import type { Dataset, DatasetStore, DatasetVersion, NewDatasetVersion } from '../../datasets/dataset.ts';
import { nameTaken } from '../../identifiers/freeName.ts';
import { UserInfo } from '../../wire/datasets.ts';
import { addOwner, listedNames, markDeleted } from './assetAccess.ts';
import type { Database, Queries } from './database.ts';
import { isUniqueViolation } from './databaseErrors.ts';
import { datasetListing } from './datasetQuery.ts';
import { inCamelCase } from './inCamelCase.ts';
import { countListed, listedItems } from './listScan.ts';
import { missingReference } from './missingReference.ts';
import { pageFrom, rowsFor } from './pageOf.ts';
import { TimeRow, userInfoSql } from './userInfo.ts';

const columns = z.array(z.object({ key: z.number(), name: z.string() }));

const DatasetRow = z
  .object({
    id: z.string(),
    name: z.string(),
    hidden: z.boolean(),
    draft: z.boolean(),
    current_version_index: z.number(),
    num_rows: z.number(),
    columns,
    project_count: z.number(),
    created_by_user: UserInfo,
    created_at: TimeRow,
    updated_at: TimeRow,
  })
  .transform(({ created_by_user: createdBy, ...row }): Dataset => ({ ...inCamelCase(row), createdBy }));

const VersionRow = z
  .object({
    dataset_id: z.string(),
    version_index: z.number(),
    content_id: z.string(),
    name: z.string().nullable(),
    num_rows: z.number(),
    columns,
    rows_added: z.number(),
    rows_removed: z.number(),
    rows_edited: z.number(),
    columns_added: z.number(),
    columns_removed: z.number(),
    columns_renamed: z.number(),
    created_by_user: UserInfo,
    created_at: TimeRow,
  })
  .transform(({ created_by_user: createdBy, ...row }): DatasetVersion => ({ ...inCamelCase(row), createdBy }));

const selectDatasets = `SELECT d.id, d.name, d.hidden, d.draft, d.current_version_index, v.num_rows, v.columns, d.created_at, d.updated_at,
    (SELECT count(*)::int FROM dataset_projects p WHERE p.dataset_id = d.id) AS project_count, ${userInfoSql('u')} AS created_by_user
  FROM datasets d JOIN dataset_versions v ON v.dataset_id = d.id AND v.version_index = d.current_version_index JOIN users u ON u.id = d.created_by`;

const selectVersions = `SELECT v.*, ${userInfoSql('u')} AS created_by_user FROM dataset_versions v JOIN users u ON u.id = v.created_by`;

const RunRowsRow = z.object({ storage_id: z.string(), num_rows: z.number(), columns }).transform(inCamelCase);

const FIRST_VERSION = 1;

export function datasetStore(database: Database): DatasetStore {
  return {
    async insert(dataset, first) {
      await database
        .transaction(async (tx) => {
          await tx.query(
            `INSERT INTO datasets (id, name, hidden, draft, current_version_index, next_row_key, next_column_key, column_mapping, created_by, created_at, updated_at,
               organization, project_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, $12)`,
            [
              dataset.id,
              dataset.name,
              dataset.hidden,
              dataset.draft,
              FIRST_VERSION,
              dataset.nextRowKey,
              dataset.nextColumnKey,
              dataset.columnMapping === undefined ? null : JSON.stringify(dataset.columnMapping),
              first.by,
              first.at,
              dataset.projectId === undefined,
              dataset.projectId ?? null,
            ],
          );
          await addOwner(tx, 'dataset', dataset.id, first.by);
          await insertVersion(tx, dataset.id, FIRST_VERSION, first);
          if (dataset.projectId !== undefined) await link(tx, dataset.id, dataset.projectId);
        })
        .catch((err) => orNameTaken(err, dataset.name));
    },

    async find(by) {
      const [column, value] = 'id' in by ? ['id', by.id] : ['name', by.name];
      const row = await database.maybeOne(`${selectDatasets} WHERE d.${column} = $1 AND d.deleted_at IS NULL`, [value]);
      return row && DatasetRow.parse(row);
    },

    query: ({ viewer, filters, sort, page }) =>
      listedItems(
        database,
        datasetListing({ viewer, filters, sort }),
        { limit: page.limit, offset: page.starting_token },
        (ids) => database.query(`${selectDatasets} WHERE d.id = ANY ($1::uuid[])`, [ids]),
        DatasetRow,
      ),

    count: ({ viewer, filters }) => countListed(database, datasetListing({ viewer, filters, sort: null })),

    async version(datasetId, versionIndex) {
      const row = await database.maybeOne(
        versionIndex === undefined
          ? `${selectVersions} JOIN datasets d ON d.id = v.dataset_id AND d.current_version_index = v.version_index WHERE d.id = $1`
          : `${selectVersions} WHERE v.dataset_id = $1 AND v.version_index = $2`,
        versionIndex === undefined ? [datasetId] : [datasetId, versionIndex],
      );
      return row && VersionRow.parse(row);
    },

    async versions(datasetId, ascending, page) {
      const rows = await database.query(
        `${selectVersions} WHERE v.dataset_id = $1 ORDER BY v.version_index ${ascending ? 'ASC' : 'DESC'} LIMIT $2 OFFSET $3`,
        [datasetId, rowsFor(page.limit), page.starting_token],
      );
      return pageFrom(z.array(VersionRow).parse(rows), page.limit);
    },

    async takeKeys(datasetId, rows, newColumns) {
      const row = await database.maybeOne(
        `UPDATE datasets SET next_row_key = next_row_key + $2, next_column_key = next_column_key + $3 WHERE id = $1 AND deleted_at IS NULL
         RETURNING next_row_key - $2 AS row_key, next_column_key - $3 AS column_key`,
        [datasetId, rows, newColumns],
      );
      if (!row) return undefined;
      const taken = z.object({ row_key: z.coerce.number(), column_key: z.coerce.number() }).parse(row);
      return { rowKey: taken.row_key, columnKey: taken.column_key };
    },

    publish: (datasetId, replaces, version) =>
      database.transaction(async (tx) => {
        const moved = await tx.maybeOne(
          `UPDATE datasets SET current_version_index = current_version_index + 1, updated_at = $3
           WHERE id = $1 AND current_version_index = $2 AND deleted_at IS NULL RETURNING id`,
          [datasetId, replaces, version.at],
        );
        if (!moved) return undefined;
        await insertVersion(tx, datasetId, replaces + 1, version);
        return replaces + 1;
      }),

    async update(datasetId, { name, draft, columnMapping }) {
      await database
        .query(
          `UPDATE datasets SET name = coalesce($2, name), draft = coalesce($3, draft), column_mapping = coalesce($4, column_mapping), updated_at = now()
           WHERE id = $1 AND deleted_at IS NULL`,
          [datasetId, name ?? null, draft ?? null, columnMapping === undefined ? null : JSON.stringify(columnMapping)],
        )
        .catch((err) => orNameTaken(err, name ?? ''));
    },

    async nameVersion(datasetId, versionIndex, name) {
      const row = await database.maybeOne(
        'UPDATE dataset_versions SET name = $3 WHERE dataset_id = $1 AND version_index = $2 RETURNING version_index',
        [datasetId, versionIndex, name],
      );
      return row !== undefined;
    },

    remove: (datasetId) => markDeleted(database, 'dataset', datasetId),

    namesFrom: (prefix, viewer) => listedNames(database, 'dataset', prefix, viewer),

    link: (datasetId, projectId) => link(database, datasetId, projectId),

    async projectsOf(datasetId) {
      const rows = await database.query(
        `SELECT p.id, p.name, p.created_at, p.updated_at, ${userInfoSql('u')} AS created_by_user
         FROM dataset_projects l JOIN projects p ON p.id = l.project_id JOIN users u ON u.id = p.created_by
         WHERE l.dataset_id = $1 ORDER BY l.last_used_at DESC, p.id`,
        [datasetId],
      );
      return rows.map((row) => {
        const project = ProjectRow.parse(row);
        return {
          id: project.id,
          name: project.name,
          createdAt: project.created_at,
          updatedAt: project.updated_at,
          createdBy: project.created_by_user,
        };
      });
    },

    async users(ids) {
      if (ids.length === 0) return new Map();
      const rows = await database.query(`SELECT ${userInfoSql('u')} AS info FROM users u WHERE u.id = ANY($1::uuid[])`, [
        [...ids],
      ]);
      const infos = rows.map((row): UserInfo => z.object({ info: UserInfo }).parse(row).info);
      return new Map(infos.map((info) => [info.id, info]));
    },

    async unused(before) {
      const datasets = await database.query(
        'SELECT id FROM datasets d WHERE deleted_at < $1 AND NOT EXISTS (SELECT 1 FROM experiments e WHERE e.dataset_id = d.id)',
        [before],
      );
      // A run's rows may be stored shortly before the run itself is.
      const runs = await database.query(
        'SELECT run_id, storage_id FROM run_rows r WHERE created_at < $1 AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = r.run_id)',
        [before],
      );
      const selections = await database.query(
        `SELECT storage_id FROM row_selections s WHERE created_at < $1 AND NOT EXISTS (
           SELECT 1 FROM experiments e WHERE e.run_id = s.run_id AND e.selected_rows ->> 'storageId' = s.storage_id::text)`,
        [before],
      );
      return {
        selections: selections.map((row) => z.string().parse(row.storage_id)),
        datasetIds: datasets.map((row) => z.object({ id: z.string() }).parse(row).id),
        runs: runs.map((row) => {
          const { run_id, storage_id } = z.object({ run_id: z.string(), storage_id: z.string() }).parse(row);
          return { runId: run_id, storageId: storage_id };
        }),
      };
    },

    async forgetDataset(datasetId) {
      await database.query('DELETE FROM datasets WHERE id = $1 AND deleted_at IS NOT NULL', [datasetId]);
    },

    async noteSelection(storageId, runId) {
      await database.query('INSERT INTO row_selections (storage_id, run_id) VALUES ($1, $2)', [storageId, runId]);
    },

    async forgetSelection(storageId) {
      await database.query('DELETE FROM row_selections WHERE storage_id = $1', [storageId]);
    },

    async runRows(runId) {
      const row = await database.maybeOne('SELECT storage_id, num_rows, columns FROM run_rows WHERE run_id = $1', [runId]);
      return row && RunRowsRow.parse(row);
    },

    async publishRunRows(runId, { storageId, numRows, columns: runColumns }) {
      const row = await database.maybeOne(
        `INSERT INTO run_rows (run_id, storage_id, num_rows, columns) VALUES ($1, $2, $3, $4) ON CONFLICT (run_id) DO NOTHING RETURNING run_id`,
        [runId, storageId, numRows, JSON.stringify(runColumns)],
      );
      return row !== undefined;
    },

    async forgetRunRows(runId) {
      await database.query('DELETE FROM run_rows WHERE run_id = $1', [runId]);
    },
  };
}

const ProjectRow = z.object({
  id: z.string(),
  name: z.string(),
  created_at: TimeRow,
  updated_at: TimeRow,
  created_by_user: UserInfo,
});

async function insertVersion(tx: Queries, datasetId: string, versionIndex: number, version: NewDatasetVersion): Promise<void> {
  await tx.query(
    `INSERT INTO dataset_versions (dataset_id, version_index, content_id, num_rows, columns, rows_added, rows_removed, rows_edited, columns_added,
       columns_removed, columns_renamed, created_by, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      datasetId,
      versionIndex,
      version.contentId,
      version.numRows,
      JSON.stringify(version.columns),
      version.rowsAdded,
      version.rowsRemoved,
      version.rowsEdited,
      version.columnsAdded,
      version.columnsRemoved,
      version.columnsRenamed,
      version.by,
      version.at,
    ],
  );
}

async function link(queries: Queries, datasetId: string, projectId: string): Promise<void> {
  await queries
    .query(
      `INSERT INTO dataset_projects (dataset_id, project_id, last_used_at) VALUES ($1, $2, now())
       ON CONFLICT (dataset_id, project_id) DO UPDATE SET last_used_at = excluded.last_used_at`,
      [datasetId, projectId],
    )
    .catch(missingReference('project'));
}

function orNameTaken(err: unknown, name: string): never {
  throw isUniqueViolation(err, 'datasets_name') ? nameTaken('dataset', name, err) : err;
}
