-- Whose a dataset, prompt, scorer or integration is. What the previous release stored was the organization's, and stays so: that is the default,
-- also for rows that a process of that release still writes beside this one.
-- project_id has no foreign key: a dataset of a project that was deleted keeps it, and so belongs to its owner alone.
ALTER TABLE datasets ADD COLUMN organization boolean NOT NULL DEFAULT true, ADD COLUMN project_id uuid;
ALTER TABLE prompt_templates ADD COLUMN organization boolean NOT NULL DEFAULT true, ADD COLUMN project_id uuid;
ALTER TABLE scorers ADD COLUMN organization boolean NOT NULL DEFAULT true;

-- Keys limited to a project go on with what was made or used there alone.
UPDATE datasets d SET project_id = l.project_id
  FROM (SELECT dataset_id, (array_agg(project_id))[1] AS project_id FROM dataset_projects GROUP BY dataset_id HAVING count(*) = 1) l
  WHERE l.dataset_id = d.id;
UPDATE prompt_templates t SET project_id = l.project_id
  FROM (SELECT template_id, (array_agg(project_id))[1] AS project_id FROM prompt_template_projects GROUP BY template_id HAVING count(*) = 1) l
  WHERE l.template_id = t.id;

-- Who may do what with one thing of these kinds, in the form of project_users and project_groups. Its creator is here as owner.
DO $$
DECLARE
  kind record;
BEGIN
  FOR kind IN SELECT * FROM (VALUES ('dataset', 'datasets'), ('prompt', 'prompt_templates'), ('scorer', 'scorers'), ('integration', 'integrations')) AS k(name, things) LOOP
    EXECUTE format(
      'CREATE TABLE %1$I (
         id uuid PRIMARY KEY,
         asset_id uuid NOT NULL REFERENCES %2$I ON DELETE CASCADE,
         user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
         role text NOT NULL CHECK (role IN (''owner'', ''editor'', ''annotator'', ''viewer'')),
         created_at timestamptz(3) NOT NULL DEFAULT now(),
         UNIQUE (asset_id, user_id)
       );
       CREATE INDEX ON %1$I (user_id);
       INSERT INTO %1$I (id, asset_id, user_id, role, created_at)
         SELECT gen_random_uuid(), t.id, u.id, ''owner'', t.created_at FROM %2$I t JOIN users u ON u.id = t.created_by',
      kind.name || '_users', kind.things);
    EXECUTE format(
      'CREATE TABLE %1$I (
         id uuid PRIMARY KEY,
         asset_id uuid NOT NULL REFERENCES %2$I ON DELETE CASCADE,
         group_id uuid NOT NULL REFERENCES user_groups ON DELETE CASCADE,
         role text NOT NULL CHECK (role IN (''owner'', ''editor'', ''annotator'', ''viewer'')),
         created_at timestamptz(3) NOT NULL DEFAULT now(),
         UNIQUE (asset_id, group_id)
       );
       CREATE INDEX ON %1$I (group_id)',
      kind.name || '_groups', kind.things);
  END LOOP;
END $$;

-- Which prompts the experiments of a project use.
CREATE INDEX experiments_by_prompt ON experiments (prompt_template_version_id) WHERE prompt_template_version_id IS NOT NULL;
