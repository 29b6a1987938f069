import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller, UserRole } from '../../shared/accounts/permissions.ts';
import { type AssetKind, createAssetAccess } from '../../shared/assets/assetAccess.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { presetById } from '../../shared/scorers/presets.ts';
import { postgresAssets } from '../../shared/stores/postgres/assetAccess.ts';
import { collaboratorStore } from '../../shared/stores/postgres/collaborators.ts';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';

// A database of the release before assets had owners, opened by this one.

const migrations = join(import.meta.dirname, '../../shared/stores/postgres/migrations');
const [maker, other, project, another] = [newId(), newId(), newId(), newId()];
const ids: Record<AssetKind, string> = { dataset: newId(), prompt: newId(), scorer: newId(), integration: newId() };
const [shared, run] = [newId(), newId()];

let directory: string;
let database: Database;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'assay-asset-migration-'));
  const before = await PGlite.create(directory);
  await before.exec('CREATE TABLE schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())');
  for (const file of (await readdir(migrations)).filter((name) => name.endsWith('.sql') && name < '116').sort()) {
    await before.exec(await readFile(join(migrations, file), 'utf8'));
    await before.query('INSERT INTO schema_migrations (name) VALUES ($1)', [file]);
  }
  await before.exec(`
    INSERT INTO users (id, email, role) VALUES ('${maker}', 'maker@example.com', 'user'), ('${other}', 'other@example.com', 'user');
    INSERT INTO projects (id, name, type, created_by) VALUES ('${project}', 'one', 'gen_ai', '${maker}'), ('${another}', 'two', 'gen_ai', '${maker}');
    INSERT INTO projects (id, name, type, created_by, created_at) VALUES ('${newId()}', ' three', 'gen_ai', '${maker}', '2026-01-01'),
      ('${newId()}', E'three\\n', 'gen_ai', '${maker}', '2026-01-02'), ('${newId()}', E'one\\u00a0', 'gen_ai', '${maker}', '2026-01-03');
    INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ('${run}', '${project}', 'log_stream', ' main ', '${maker}'),
      ('${newId()}', '${another}', 'log_stream', 'main ', '${maker}');
    INSERT INTO run_tags (id, project_id, run_id, key, value, tag_type, created_by) VALUES
      ('${newId()}', '${project}', '${run}', ' branch', E'main\\n', 'generic', '${maker}'), ('${newId()}', '${project}', '${run}', 'commit ', 'b', 'generic', '${maker}'),
      ('${newId()}', '${project}', '${run}', 'commit', 'a', 'generic', '${maker}');
    INSERT INTO project_users (id, project_id, user_id, role) VALUES ('${newId()}', '${project}', '${maker}', 'owner');
    INSERT INTO datasets (id, name, current_version_index, next_row_key, next_column_key, created_by, created_at, updated_at)
      VALUES ('${ids.dataset}', 'd', 1, 0, 0, '${maker}', now(), now()), ('${shared}', 's', 1, 0, 0, '${maker}', now(), now());
    INSERT INTO dataset_projects (dataset_id, project_id, last_used_at)
      VALUES ('${ids.dataset}', '${project}', now()), ('${shared}', '${project}', now()), ('${shared}', '${another}', now());
    INSERT INTO prompt_templates (id, name, selected_version, created_by, created_at, updated_at)
      VALUES ('${ids.prompt}', 'p', 1, '${maker}', now(), now());
    INSERT INTO prompt_template_projects (template_id, project_id) VALUES ('${ids.prompt}', '${project}');
    INSERT INTO scorers (id, name, scorer_type, definition, project_ids, created_by)
      VALUES ('${ids.scorer}', 's', 'llm', '{"label":" a label "}', ARRAY['${project}']::uuid[], '${maker}');
    INSERT INTO integrations (id, provider, name, config, secrets, created_by)
      VALUES ('${ids.integration}', 'mistral', 'mistral', '{}', '{}', '${maker}');`);
  await before.close();
  database = await openDatabase({ directory });
});
afterAll(async () => {
  await database?.close();
  await rm(directory, { recursive: true, force: true });
});

const caller = (userId: string, role: UserRole = 'user', projectId?: string): Caller => ({
  userId,
  email: 'x@example.com',
  role,
  ...(projectId ? { projectKey: { projectId, role: 'editor' } } : {}),
});
const roleOf = async (who: Caller, kind: AssetKind, id = ids[kind]) =>
  (await createAssetAccess(postgresAssets(database), (id) => presetById(id) !== undefined).roles(who, kind, [id])).get(id);

test.each([
  ['dataset', 'editor'],
  ['prompt', 'editor'],
  ['scorer', 'editor'],
  ['integration', 'viewer'],
] as const)('a stored %s stays visible to the organization, and is its maker’s', async (kind, role) => {
  expect(await roleOf(caller(other), kind)).toBe(role);
  expect(await roleOf(caller(other, 'read_only'), kind)).toBe('viewer');
  expect(await roleOf(caller(other, 'manager'), kind)).toBe('owner');
  expect(await roleOf(caller(maker), kind)).toBe('owner');
  const { items } = await collaboratorStore(database, kind).userCollaborators(ids[kind], { offset: 0, limit: 10 });
  expect(items).toMatchObject([{ userId: maker, role: 'owner' }]);
});

test('a key limited to a project goes on with what was made or used there, and with nothing else', async () => {
  for (const kind of ['dataset', 'prompt', 'scorer'] as const) {
    expect([kind, await roleOf(caller(maker, 'user', project), kind)]).toEqual([kind, 'editor']);
    expect([kind, await roleOf(caller(maker, 'admin', another), kind)]).toEqual([kind, undefined]);
  }
  expect(await roleOf(caller(maker, 'user', project), 'integration')).toBeUndefined();
  // Used by two projects, it belongs to neither.
  expect(await roleOf(caller(maker, 'admin', another), 'dataset', shared)).toBe('viewer');
  expect(await roleOf(caller(maker, 'admin', newId()), 'dataset', shared)).toBeUndefined();
});

test('what a process of the previous release writes meanwhile is the organization’s', async () => {
  const id = newId();
  await database.query(
    `INSERT INTO scorers (id, name, scorer_type, definition, created_by) VALUES ($1, 'late', 'llm', '{}', $2)`,
    [id, maker],
  );
  expect(await roleOf(caller(other), 'scorer', id)).toBe('editor');
});

test('names of projects and log streams lose the blanks around them, where no other has that name', async () => {
  const names = async (table: string) => (await database.query(`SELECT name FROM ${table}`)).map(({ name }) => name).sort();
  expect(await names('projects')).toEqual(['one', 'one\u00a0', 'three', 'three\n', 'two']);
  expect(await names('runs')).toEqual(['main', 'main']);
});

test('so do tags of runs and labels of scorers', async () => {
  const tags = await database.query('SELECT key, value FROM run_tags ORDER BY value');
  expect(tags).toEqual([
    { key: 'commit', value: 'a' },
    { key: 'commit ', value: 'b' },
    { key: 'branch', value: 'main' },
  ]);
  expect(await database.query(`SELECT definition FROM scorers WHERE id = '${ids.scorer}'`)).toEqual([
    { definition: { label: 'a label' } },
  ]);
});
