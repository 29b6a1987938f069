-- Days for which a project keeps its records; null: for ever.
ALTER TABLE projects ADD COLUMN retention_days integer CHECK (retention_days BETWEEN 1 AND 36500);
CREATE INDEX projects_retention ON projects (id) WHERE retention_days IS NOT NULL;

-- Every run and project (run_id null) that was deleted: whoever still writes to it, or opens a run under its id, is refused. Kept for ever.
CREATE TABLE deletion_markers (
  project_id uuid NOT NULL,
  run_id uuid,
  deleted_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX deletion_markers_project ON deletion_markers (project_id, run_id);
CREATE INDEX deletion_markers_run ON deletion_markers (run_id);
INSERT INTO deletion_markers (project_id, run_id, deleted_at) SELECT project_id, run_id, requested_at FROM pending_deletions;

-- A deletion of what a filter finds, until all of it is gone. The filter is applied again after a crash, to what was not written since.
CREATE TABLE record_deletions (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  run_id uuid NOT NULL,
  kinds text[] NOT NULL,
  filter jsonb NOT NULL,
  requested_at timestamptz NOT NULL,
  -- Whoever carries it out says so here from time to time.
  attended_at timestamptz NOT NULL DEFAULT now()
);

-- The records that are being taken from the other stores at this moment. They are found by nobody before the next write to their run.
CREATE TABLE record_erasures (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  run_id uuid NOT NULL,
  keys jsonb NOT NULL,
  noted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX record_erasures_run ON record_erasures (project_id, run_id);
