import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createApp } from '../../api/app.ts';
import { datasetContentRoutes } from '../../api/routes/datasetContent.ts';
import { datasetRoutes } from '../../api/routes/datasets.ts';
import { promptRenderingRoutes } from '../../api/routes/promptRendering.ts';
import { promptRoutes } from '../../api/routes/prompts.ts';
import { createAssetAccess } from '../../shared/assets/assetAccess.ts';
import type { CopiedRecord } from '../../shared/datasets/editedTable.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { presetById } from '../../shared/scorers/presets.ts';
import { openClickHouse } from '../../shared/stores/clickhouse/connect.ts';
import { datasetRows, datasetRowTables } from '../../shared/stores/clickhouse/writes/datasetRows.ts';
import { postgresAssets } from '../../shared/stores/postgres/assetAccess.ts';
import { datasetStore } from '../../shared/stores/postgres/datasets.ts';
import { promptStore } from '../../shared/stores/postgres/prompts.ts';
import { callerOfProjects } from './callerOfProjects.ts';
import { type Answer, serve } from './http.ts';
import { openSeededDatabase } from './seedPostgres.ts';

/** Datasets and prompts over the embedded stores, served over HTTP. Everyone may do everything in the projects made by `project()`. */
export async function startAssetService() {
  const directory = await mkdtemp(join(tmpdir(), 'assay-assets-'));
  const database = await openSeededDatabase(join(directory, 'postgres'));
  const clickhouse = openClickHouse({ dataDir: join(directory, 'clickhouse') });
  await datasetRowTables(clickhouse);
  const { caller, gate, project } = await callerOfProjects(database, 'ada@example.com');
  const records = new Map<string, CopiedRecord>();
  const deps = { datasets: datasetStore(database), rows: datasetRows(clickhouse) };
  const prompts = promptStore(database);
  const assets = createAssetAccess(postgresAssets(database), (id) => presetById(id) !== undefined);
  const endpoints = [
    ...datasetRoutes({ ...deps, gate, assets }),
    ...datasetContentRoutes({
      ...deps,
      gate,
      assets,
      readRecords: async (_projectId, ids) => ids.flatMap((id) => records.get(id) ?? []),
    }),
    ...promptRoutes({ prompts, gate, assets }),
    ...promptRenderingRoutes({ ...deps, assets }),
  ];
  const http = await serve(
    createApp({ endpoints, gate, log: pino({ level: 'silent' }), apiKeyHeaders: ['Service-API-Key'], checkReplies: true }),
  );
  return {
    ...deps,
    prompts,
    database,
    clickhouse,
    caller,
    records,
    ...http,
    project,
    /** Creates a dataset as clients do: a multipart form whose file is named like the dataset. */
    async upload(
      format: string,
      content: string | Uint8Array<ArrayBuffer>,
      fields: Record<string, string> = {},
      query = '',
    ): Promise<Answer> {
      const name = fields.name ?? newId();
      const form = new FormData();
      form.set('file', new File([content], name));
      for (const [key, value] of Object.entries({ name, ...fields })) form.set(key, value);
      const response = await fetch(`${http.url}/datasets?format=${format}${query}`, { method: 'POST', body: form });
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
    async close() {
      await http.close();
      await clickhouse.close();
      await database.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
export type AssetService = Awaited<ReturnType<typeof startAssetService>>;
