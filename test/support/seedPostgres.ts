import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';

const ROOT = join(import.meta.dirname, '../..');
const KEPT_IN = join(ROOT, 'node_modules/.cache/assay-tests');
/** Files that decide the contents of a new store: the engine, the code that opens it, and the migrations. */
const SOURCES = ['node_modules/@electric-sql/pglite/package.json', 'shared/stores/postgres/{connect.ts,migrate.ts,migrations/*}'];

/**
 * Puts an embedded Postgres with all migrations and no rows into `directory`, unless something is there. To create one takes 4 s of CPU, a copy 0.05 s, so
 * one is kept beside the installed packages. That a service creates its own is tested with its first start.
 */
export async function seedPostgres(directory: string): Promise<void> {
  if (existsSync(directory)) return;
  const hash = createHash('sha256');
  for (const path of globSync(SOURCES, { cwd: ROOT }).sort()) hash.update(path).update(readFileSync(join(ROOT, path)));
  const kept = join(KEPT_IN, `postgres-${hash.digest('hex').slice(0, 16)}`);
  if (!existsSync(kept)) await keep(kept);
  mkdirSync(dirname(directory), { recursive: true, mode: 0o700 });
  execFileSync('cp', ['-r', kept, directory]); // a tenth of the time that Node's own copy of 1,200 files takes
}

async function keep(path: string): Promise<void> {
  mkdirSync(KEPT_IN, { recursive: true });
  const unfinished = mkdtempSync(join(KEPT_IN, 'unfinished-'));
  const database = await openDatabase({ directory: unfinished });
  await database.close();
  try {
    renameSync(unfinished, path);
  } catch (err) {
    rmSync(unfinished, { recursive: true });
    if (!existsSync(path)) throw err; // otherwise another process kept one at this moment
  }
}

/** An embedded Postgres of its own for a test, in `directory`. */
export async function openSeededDatabase(directory: string): Promise<Database> {
  await seedPostgres(directory);
  return openDatabase({ directory });
}
