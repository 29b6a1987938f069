import { z } from 'zod';
import type { Extension, ExtensionRequest, ExtensionStore, GeneratedRow } from '../../datasetExtensions/extension.ts';
import { storableText } from '../../datasetExtensions/storableText.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { missingReference } from './missingReference.ts';

const ExtensionRow = z
  .object({
    dataset_id: z.string(),
    request: z.custom<ExtensionRequest>(),
    rows: z.custom<GeneratedRow[]>(),
    batches: z.number(),
    fruitless: z.number(),
    state: z.enum(['running', 'completed', 'failed']),
    message: z.string().nullable(),
  })
  .transform((row): Extension => inCamelCase(row));

/** Those of datasets that are there: what is deleted is no longer filled. */
const extensions = 'dataset_extensions e JOIN datasets d ON d.id = e.dataset_id WHERE d.deleted_at IS NULL';

/** Datasets whose rows a model makes. */
export const postgresDatasetExtensions = (database: Database): ExtensionStore => ({
  async insert(datasetId, request) {
    await database
      .query('INSERT INTO dataset_extensions (dataset_id, request) VALUES ($1, $2)', [datasetId, JSON.stringify(request)])
      .catch(missingReference('dataset'));
  },
  async find(datasetId) {
    const columns = 'e.dataset_id, e.request, e.rows, e.batches, e.fruitless, e.state, e.message';
    const row = await database.maybeOne(`SELECT ${columns} FROM ${extensions} AND e.dataset_id = $1`, [datasetId]);
    return row && ExtensionRow.parse(row);
  },
  async add(datasetId, batches, rows) {
    await database.query(
      `UPDATE dataset_extensions SET rows = rows || $3::jsonb, batches = batches + 1,
         fruitless = CASE WHEN jsonb_array_length($3::jsonb) > 0 THEN 0 ELSE fruitless + 1 END
       WHERE dataset_id = $1 AND batches = $2 AND state = 'running'`,
      [datasetId, batches, JSON.stringify(rows)],
    );
  },
  async end(datasetId, state, message) {
    // The message may quote the answer of a model, which can contain any character.
    await database.query(`UPDATE dataset_extensions SET state = $2, message = $3 WHERE dataset_id = $1 AND state = 'running'`, [
      datasetId,
      state,
      storableText(message),
    ]);
  },
  async running() {
    const rows = await database.query(
      `SELECT e.dataset_id AS id FROM ${extensions} AND e.state = 'running' ORDER BY e.created_at LIMIT 1000`,
    );
    return rows.map(({ id }) => z.string().parse(id));
  },
});
