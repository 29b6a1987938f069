-- Files that people upload, for prompts, dataset rows and records to name.
CREATE TABLE files (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name text NOT NULL,
  -- What the bytes are, as they say it themselves.
  content_type text NOT NULL,
  modality text NOT NULL,
  size_bytes integer NOT NULL,
  content bytea NOT NULL,
  created_by uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- Images and sounds are packed already.
ALTER TABLE files ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX files_of_project ON files (project_id, size_bytes);
