-- A name is taken where its thing belongs: by the organization, a project, or the projects of a scorer. What others keep to themselves takes no
-- name from anyone. Beside this, a new name must differ from all that its author sees.
DROP INDEX datasets_name;
CREATE UNIQUE INDEX datasets_name ON datasets
  (name, (CASE WHEN organization THEN '00000000-0000-0000-0000-000000000000'::uuid ELSE coalesce(project_id, created_by) END)) WHERE deleted_at IS NULL;
DROP INDEX prompt_templates_name;
CREATE UNIQUE INDEX prompt_templates_name ON prompt_templates
  (name, (CASE WHEN organization THEN '00000000-0000-0000-0000-000000000000'::uuid ELSE coalesce(project_id, created_by) END)) WHERE deleted_at IS NULL;
DROP INDEX scorers_name;
CREATE UNIQUE INDEX scorers_name ON scorers (lower(name), (CASE WHEN organization THEN '{}'::uuid[] ELSE project_ids END)) WHERE deleted_at IS NULL;
