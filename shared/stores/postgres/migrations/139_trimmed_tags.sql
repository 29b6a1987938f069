-- Tags of runs, names of annotation templates and labels of scorers have no blanks around them, as all names since 137. Of two tags of a run that would have
-- the same key, the one that has it keeps it.
CREATE OR REPLACE FUNCTION pg_temp.trimmed(name text) RETURNS text LANGUAGE sql IMMUTABLE
  AS $$ SELECT regexp_replace(name, '^[\s\u00a0\ufeff]+|[\s\u00a0\ufeff]+$', '', 'g') $$;

UPDATE run_tags SET key = pg_temp.trimmed(key) WHERE id IN (
  SELECT DISTINCT ON (run_id, pg_temp.trimmed(key)) id FROM run_tags t
   WHERE key <> pg_temp.trimmed(key)
     AND NOT EXISTS (SELECT FROM run_tags other WHERE other.run_id = t.run_id AND other.key = pg_temp.trimmed(t.key))
   ORDER BY run_id, pg_temp.trimmed(key), created_at, id);
UPDATE run_tags SET value = pg_temp.trimmed(value) WHERE value <> pg_temp.trimmed(value);

UPDATE annotation_templates SET name = pg_temp.trimmed(name) WHERE name <> pg_temp.trimmed(name) AND pg_temp.trimmed(name) <> '';

UPDATE scorers SET definition = jsonb_set(definition, '{label}', to_jsonb(pg_temp.trimmed(definition ->> 'label')))
 WHERE definition ->> 'label' <> pg_temp.trimmed(definition ->> 'label');
