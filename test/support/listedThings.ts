/** Ids of the people and places of {@link fillLists}. */
const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
export const [admin, maker, guest, stranger] = [id(1), id(2), id(3), id(4)] as const;
export const [project, otherProject] = [id(1), id(2)] as const;

/**
 * SQL that makes `count` things of each kind in an empty database: names in no order, and so few times that many are the same. Of four, one is the
 * organization's, and one a project's. The table `thing` has their ids until the session ends.
 */
export const fillLists = (count: number): string => `
  INSERT INTO users (id, email, role) SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, n || '@example.com', 'user' FROM generate_series(1, 4) n;
  INSERT INTO projects (id, name, type, created_by) VALUES ('${project}', 'project', 'gen_ai', '${admin}'), ('${otherProject}', 'other', 'gen_ai', '${admin}');
  INSERT INTO user_groups (id, name, visibility, created_by) VALUES ('${project}', 'group', 'public', '${admin}');
  INSERT INTO user_group_members (group_id, user_id, role) VALUES ('${project}', '${guest}', 'member'), ('${project}', '${stranger}', 'pending');
  CREATE TEMP TABLE thing AS SELECT gen_random_uuid() AS id, n, md5(n::text) AS name, CASE n % 5 WHEN 0 THEN '${guest}'::uuid ELSE '${maker}'::uuid END AS maker,
    timestamptz '2026-01-01' + n % 300 * interval '1 day' AS created_at, timestamptz '2026-02-01' + n % 400 * interval '1 day' AS updated_at,
    n % 4 = 1 AS organization, CASE WHEN n % 4 = 2 THEN '${project}'::uuid END AS project_id, ARRAY['owner', 'editor', 'annotator', 'viewer'] AS roles
    FROM generate_series(1, ${count}) n;
  INSERT INTO datasets (id, name, current_version_index, next_row_key, next_column_key, created_by, created_at, updated_at, organization, project_id)
    SELECT id, name, 1, 1, 1, maker, created_at, updated_at, organization, project_id FROM thing;
  INSERT INTO dataset_versions (dataset_id, version_index, content_id, num_rows, columns, rows_added, rows_removed, rows_edited, columns_added, columns_removed, columns_renamed, created_by, created_at)
    SELECT id, 1, id, n % 13, '[]', 0, 0, 0, 0, 0, 0, maker, created_at FROM thing;
  INSERT INTO dataset_projects (dataset_id, project_id, last_used_at) SELECT id, '${otherProject}', created_at FROM thing WHERE n % 17 = 0;
  INSERT INTO prompt_templates (id, name, selected_version, created_by, created_at, updated_at, organization, project_id)
    SELECT id, name, 1, maker, created_at, updated_at, organization, project_id FROM thing;
  INSERT INTO prompt_template_versions (id, template_id, version, template, raw, settings, model_changed, settings_changed, content_changed, created_by, created_at, updated_at)
    SELECT id, id, 1, '"text"', false, '{}', false, false, false, maker, created_at, created_at FROM thing;
  INSERT INTO dataset_users (id, asset_id, user_id, role) SELECT id, id, maker, roles[1 + n % 3] FROM thing;
  INSERT INTO prompt_users (id, asset_id, user_id, role) SELECT id, id, maker, roles[1 + n % 3] FROM thing;
  INSERT INTO dataset_users (id, asset_id, user_id, role) SELECT gen_random_uuid(), id, '${stranger}', roles[1 + n % 4] FROM thing WHERE n % 9 = 0;
  INSERT INTO dataset_groups (id, asset_id, group_id, role) SELECT id, id, '${project}', roles[1 + n % 4] FROM thing WHERE n % 8 = 0;
  INSERT INTO runs (id, project_id, kind, name, created_by, created_at, updated_at)
    SELECT id, '${project}', CASE n % 2 WHEN 0 THEN 'experiment' ELSE 'log_stream' END, name, maker, created_at, updated_at FROM thing;
  INSERT INTO experiment_groups (id, project_id, name) VALUES ('${id(1)}', '${project}', 'first'), ('${id(2)}', '${project}', 'second');
  INSERT INTO experiments (run_id, project_id, group_id, prompt_template_version_id, aggregates)
    SELECT id, '${project}', CASE WHEN n % 3 = 0 THEN '${id(1)}'::uuid ELSE '${id(2)}'::uuid END, id,
      CASE WHEN n % 5 > 0 THEN jsonb_build_object('rankingScore', n % 50, 'rolledUp', jsonb_build_object('figure', n % 19)) END FROM thing WHERE n % 2 = 0;
  INSERT INTO projects (id, name, type, created_by, created_at, updated_at) SELECT id, name, 'gen_ai', maker, created_at, updated_at FROM thing;
  INSERT INTO project_users (id, project_id, user_id, role) SELECT id, id, maker, 'owner' FROM thing;
  INSERT INTO annotation_queues (id, name, created_by, created_at, updated_at) SELECT id, name, maker, created_at, updated_at FROM thing;
  INSERT INTO annotation_queue_users (id, queue_id, user_id, role, track_progress) SELECT id, id, maker, 'owner', true FROM thing;
  INSERT INTO scorers (id, name, scorer_type, definition, project_ids, created_by, created_at, updated_at)
    SELECT id, name, 'llm', '{}', '{}', maker, created_at, updated_at FROM thing WHERE n % 50 = 0;
  INSERT INTO run_scorer_settings (run_id, project_id, scorers) SELECT id, '${project}', jsonb_build_array(jsonb_build_object('id', '${id(1)}', 'name', 'figure', 'scorer_type', 'code')) FROM thing;
  INSERT INTO users (id, email, role, created_at) SELECT id, name || '@example.com', 'user', created_at FROM thing;
  INSERT INTO user_groups (id, name, visibility, created_by, created_at) SELECT id, name, 'hidden', maker, created_at FROM thing;
  INSERT INTO api_keys (id, user_id, key_hash, truncated, description, created_at) SELECT id, '${maker}', name, name, name, created_at FROM thing;
  INSERT INTO project_users (id, project_id, user_id, role, created_at) SELECT gen_random_uuid(), '${project}', id, 'viewer', created_at FROM thing;
  INSERT INTO project_groups (id, project_id, group_id, role, created_at) SELECT gen_random_uuid(), '${project}', id, 'viewer', created_at FROM thing;
  INSERT INTO annotation_queues (id, name, created_by) VALUES ('${project}', 'queue', '${admin}');
  INSERT INTO annotation_queue_users (id, queue_id, user_id, role, track_progress, created_at)
    SELECT gen_random_uuid(), '${project}', id, 'annotator', false, created_at FROM thing;`;
