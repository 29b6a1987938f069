import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newId } from '../../shared/identifiers/ids.ts';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';
import { openEmbedded } from '../../shared/stores/postgres/embedded.ts';
import { connectServer } from '../../shared/stores/postgres/server.ts';
import { databaseSchema } from '../support/databaseSchema.ts';
import { unpackFormerFolder } from '../support/formerFolder.ts';
import { overDatabases } from '../support/overDatabases.ts';

const base = join(import.meta.dirname, '../../shared/stores/postgres/migrations/000_base.sql');
/** How the former release noted what the base has. */
const FORMER_NAMES = [
  ...['010_accounts', '020_projects', '030_integrations', '040_datasets', '050_prompts', '060_scorers', '070_experiments'],
  ...['071_experiment_creations', '080_annotations', '090_scorings', '100_retention', '101_deleted_rows', '110_run_workflows'],
  ...['112_frozen_metrics', '113_integration_limits', '114_held_updates', '115_outdated_aggregates', '116_asset_access'],
  ...['117_asset_names', '119_login_sessions', '120_names_seen', '121_metric_scales', '122_trials', '123_failed_rows'],
  ...['124_integration_prices', '125_selected_rows', '126_ranking_score', '127_default_judge', '128_rerun'],
  ...['129_dataset_extensions', '130_scores_left'],
].map((name) => `${name}.sql`);

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'assay-migrations-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const appliedIn = async (database: Database) =>
  (await database.query('SELECT name FROM schema_migrations ORDER BY name')).map(({ name }) => name);

const note = (database: Database, names: readonly string[]) =>
  database.query('INSERT INTO schema_migrations (name) SELECT unnest($1::text[])', [names]);

async function inDatabase<T>(opened: Promise<Database>, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await opened;
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

test('the database of a folder that the former release has left gets the schema of a new one', async () => {
  const folder = await temporaryFolder();
  await unpackFormerFolder(folder);
  const former = join(folder, 'stopped/postgres');
  expect((await inDatabase(openEmbedded(former), appliedIn)).slice(0, FORMER_NAMES.length)).toEqual(FORMER_NAMES);
  const migrated = await inDatabase(openDatabase({ directory: former }), databaseSchema);
  const fresh = await inDatabase(openDatabase({ directory: join(folder, 'new') }), databaseSchema);
  for (const part of Object.keys(fresh) as (keyof typeof fresh)[]) expect(migrated[part], part).toEqual(fresh[part]);
  expect(fresh.columns.length).toBeGreaterThan(400);
  // Processes of the former release find nothing to do in a new one.
  expect(fresh.migrations.slice(0, FORMER_NAMES.length)).toEqual(FORMER_NAMES.map((name) => ({ name })));
});

overDatabases((databaseUrl) => {
  /** An empty database, opened as it is and with migrations. */
  async function emptyOne() {
    const url = await databaseUrl();
    const directory = join(await temporaryFolder(), 'postgres');
    return {
      asItIs: () => (url === undefined ? openEmbedded(directory) : connectServer({ url }, undefined)),
      migrated: () => openDatabase(url === undefined ? { directory } : { url }),
    };
  }

  /** Makes an empty database one with the tables of the former release, which has noted these files. */
  async function makeFormer(database: Database, names: readonly string[]): Promise<void> {
    await database.exec('CREATE TABLE schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())');
    await database.exec(await readFile(base, 'utf8'));
    await note(database, names);
  }

  test('names, tags of runs and labels of scorers lose the blanks around them, where no other has that name', async () => {
    const { asItIs, migrated } = await emptyOne();
    const [maker, project, another, run] = [newId(), newId(), newId(), newId()];
    await inDatabase(asItIs(), async (database) => {
      await makeFormer(database, FORMER_NAMES);
      await database.exec(`
        INSERT INTO users (id, email, role) VALUES ('${maker}', 'maker@example.com', 'user');
        INSERT INTO projects (id, name, type, created_by) VALUES ('${project}', 'one', 'gen_ai', '${maker}'), ('${another}', 'two', 'gen_ai', '${maker}');
        INSERT INTO projects (id, name, type, created_by, created_at) VALUES ('${newId()}', ' three', 'gen_ai', '${maker}', '2026-01-01'),
          ('${newId()}', E'three\\n', 'gen_ai', '${maker}', '2026-01-02'), ('${newId()}', E'one\\u00a0', 'gen_ai', '${maker}', '2026-01-03');
        INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ('${run}', '${project}', 'log_stream', ' main ', '${maker}'),
          ('${newId()}', '${another}', 'log_stream', 'main ', '${maker}');
        INSERT INTO run_tags (id, project_id, run_id, key, value, tag_type, created_by) VALUES
          ('${newId()}', '${project}', '${run}', ' branch', E'main\\n', 'generic', '${maker}'),
          ('${newId()}', '${project}', '${run}', 'commit ', 'b', 'generic', '${maker}'),
          ('${newId()}', '${project}', '${run}', 'commit', 'a', 'generic', '${maker}');
        INSERT INTO scorers (id, name, scorer_type, definition, created_by)
          VALUES ('${newId()}', 's', 'llm', '{"label":" a label "}', '${maker}')`);
    });
    await inDatabase(migrated(), async (database) => {
      const names = async (table: string) => (await database.query(`SELECT name FROM ${table}`)).map(({ name }) => name).sort();
      expect(await names('projects')).toEqual(['one', 'one\u00a0', 'three', 'three\n', 'two']);
      expect(await names('runs')).toEqual(['main', 'main']);
      expect(await database.query('SELECT key, value FROM run_tags ORDER BY value')).toEqual([
        { key: 'commit', value: 'a' },
        { key: 'commit ', value: 'b' },
        { key: 'branch', value: 'main' },
      ]);
      expect(await database.query('SELECT definition FROM scorers')).toEqual([{ definition: { label: 'a label' } }]);
    });
  });

  test('a database that lacks some of the files of the former release is refused and stays as it is', async () => {
    const { asItIs, migrated } = await emptyOne();
    await inDatabase(asItIs(), (database) => makeFormer(database, []));
    for (const { names, lacking } of [
      { names: FORMER_NAMES.slice(0, -1), lacking: '130_scores_left.sql' },
      { names: FORMER_NAMES.filter((name) => name !== '117_asset_names.sql'), lacking: '117_asset_names.sql' },
      { names: ['131_series.sql'], lacking: FORMER_NAMES.join(', ') },
    ]) {
      const before = await inDatabase(asItIs(), async (database) => {
        await database.exec('DELETE FROM schema_migrations');
        await note(database, names);
        return databaseSchema(database);
      });
      const refusal = `this Postgres database is of a release before that of 27 November 2026 (commit 2a51862): it lacks ${lacking}; it was left as it is`;
      await expect(migrated()).rejects.toThrow(refusal);
      expect(await inDatabase(asItIs(), databaseSchema)).toEqual(before);
    }
  });
});
