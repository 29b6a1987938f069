import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from './database.ts';

const MIGRATIONS = join(import.meta.dirname, 'migrations');
const MIGRATION_LOCK = 7_270_001;

const BASE = '000_base.sql';
/**
 * The base is noted by the names of the files that the release of 27 November 2026 made the same tables by: its databases have the base as they are, and
 * its processes find nothing to do in ours.
 */
const BASE_NAMES =
  `010_accounts 020_projects 030_integrations 040_datasets 050_prompts 060_scorers 070_experiments 071_experiment_creations
  080_annotations 090_scorings 100_retention 101_deleted_rows 110_run_workflows 112_frozen_metrics 113_integration_limits 114_held_updates
  115_outdated_aggregates 116_asset_access 117_asset_names 119_login_sessions 120_names_seen 121_metric_scales 122_trials 123_failed_rows
  124_integration_prices 125_selected_rows 126_ranking_score 127_default_judge 128_rerun 129_dataset_extensions 130_scores_left`
    .split(/\s+/)
    .map((name) => `${name}.sql`);

/**
 * Applies the files of `migrations/` that this database lacks, in name order, in one transaction; processes that start together wait in line.
 * @throws Error when the database is of a release before that of the base; it stays as it was
 */
export async function migrate(database: Database): Promise<void> {
  const files = (await readdir(MIGRATIONS)).filter((file) => file.endsWith('.sql')).sort();
  await database.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await tx.exec(
      'CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
    );
    const applied = new Set((await tx.query('SELECT name FROM schema_migrations')).map((row) => row.name));
    for (const file of files) {
      const names = file === BASE ? BASE_NAMES : [file];
      const missing = names.filter((name) => !applied.has(name));
      if (missing.length === 0) continue;
      if (file === BASE && applied.size > 0)
        throw new Error(
          `this Postgres database is of a release before that of 27 November 2026 (commit 2a51862): it lacks ${missing.join(', ')}; ` +
            'it was left as it is: start that release on it once, and then this one',
        );
      await tx.exec(await readFile(join(MIGRATIONS, file), 'utf8'));
      await tx.query('INSERT INTO schema_migrations (name) SELECT unnest($1::text[])', [names]);
    }
  });
}
