import { join } from 'node:path';
import { openSeededDatabase } from './seedPostgres.ts';

/** Puts datasets of the organization, which everyone sees, into the folder of a service that does not run. Made by requests they would take an hour. */
export async function addManyDatasets(dataDir: string, count: number): Promise<void> {
  const database = await openSeededDatabase(join(dataDir, 'postgres'));
  try {
    await database.exec(`
      INSERT INTO users (id, email, role) VALUES (gen_random_uuid(), 'datasets@example.com', 'user');
      INSERT INTO datasets (id, name, current_version_index, next_row_key, next_column_key, created_by, created_at, updated_at)
        SELECT gen_random_uuid(), 'dataset ' || n, 1, 1, 1, u.id, now() - n * interval '1 minute', now() - n * 7919 % ${count} * interval '1 minute'
          FROM users u, generate_series(1, ${count}) n WHERE u.email = 'datasets@example.com';
      INSERT INTO dataset_users (id, asset_id, user_id, role) SELECT gen_random_uuid(), id, created_by, 'owner' FROM datasets;
      INSERT INTO dataset_versions (dataset_id, version_index, content_id, num_rows, columns, rows_added, rows_removed, rows_edited, columns_added, columns_removed, columns_renamed, created_by, created_at)
        SELECT id, 1, id, 0, '[]', 0, 0, 0, 0, 0, 0, created_by, created_at FROM datasets;`);
  } finally {
    await database.close();
  }
}
