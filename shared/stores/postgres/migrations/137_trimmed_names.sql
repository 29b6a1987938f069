-- Names have no blanks around them, and are looked for without: those that have some lose them. Of several that would be alike only the first does, and none
-- where another has that name: the others keep theirs, and are found by a part of it.
CREATE FUNCTION pg_temp.trimmed(name text) RETURNS text LANGUAGE sql IMMUTABLE
  AS $$ SELECT regexp_replace(name, '^[\s\u00a0\ufeff]+|[\s\u00a0\ufeff]+$', '', 'g') $$;

UPDATE projects SET name = pg_temp.trimmed(name) WHERE id IN (
  SELECT DISTINCT ON (pg_temp.trimmed(name)) id FROM projects p
   WHERE name <> pg_temp.trimmed(name) AND pg_temp.trimmed(name) <> ''
     AND NOT EXISTS (SELECT FROM projects other WHERE other.name = pg_temp.trimmed(p.name))
   ORDER BY pg_temp.trimmed(name), created_at, id);

UPDATE runs SET name = pg_temp.trimmed(name) WHERE id IN (
  SELECT DISTINCT ON (project_id, kind, pg_temp.trimmed(name)) id FROM runs r
   WHERE name <> pg_temp.trimmed(name) AND pg_temp.trimmed(name) <> ''
     AND NOT EXISTS (SELECT FROM runs other WHERE other.project_id = r.project_id AND other.kind = r.kind AND other.name = pg_temp.trimmed(r.name))
   ORDER BY project_id, kind, pg_temp.trimmed(name), created_at, id);

UPDATE experiment_groups SET name = pg_temp.trimmed(name) WHERE id IN (
  SELECT DISTINCT ON (project_id, pg_temp.trimmed(name)) id FROM experiment_groups g
   WHERE name <> pg_temp.trimmed(name) AND pg_temp.trimmed(name) <> ''
     AND NOT EXISTS (SELECT FROM experiment_groups other WHERE other.project_id = g.project_id AND other.name = pg_temp.trimmed(g.name))
   ORDER BY project_id, pg_temp.trimmed(name), created_at, id);
