import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from './database.ts';

const MIGRATIONS = join(import.meta.dirname, 'migrations');
const MIGRATION_LOCK = 7_270_001;

/** Applies the files of `migrations/` that this database lacks, in name order, in one transaction; processes that start together wait in line. */
export async function migrate(database: Database): Promise<void> {
  const files = (await readdir(MIGRATIONS)).filter((file) => file.endsWith('.sql')).sort();
  await database.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await tx.exec(
      'CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
    );
    const applied = new Set((await tx.query('SELECT name FROM schema_migrations')).map((row) => row.name));
    for (const file of files) {
      if (applied.has(file)) continue;
      await tx.exec(await readFile(join(MIGRATIONS, file), 'utf8'));
      await tx.query('INSERT INTO schema_migrations (name) VALUES ($1)', [file]);
    }
  });
}
