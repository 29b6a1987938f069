-- A dataset's rows live in ClickHouse. What is here names them, and publishes a version by its row, written last.
CREATE TABLE datasets (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  hidden boolean NOT NULL DEFAULT false,
  draft boolean NOT NULL DEFAULT false,
  current_version_index integer NOT NULL,
  -- Keys of rows and columns are handed out once and never again, so that a failed write leaves nothing a later one could meet.
  next_row_key bigint NOT NULL,
  next_column_key integer NOT NULL,
  column_mapping jsonb,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- Set on deletion: the name is free and the routes answer 404, while runs that use a version still read its rows.
  deleted_at timestamptz(3)
);
CREATE UNIQUE INDEX datasets_name ON datasets (name) WHERE deleted_at IS NULL;

CREATE TABLE dataset_versions (
  dataset_id uuid NOT NULL REFERENCES datasets ON DELETE CASCADE,
  version_index integer NOT NULL,
  -- Names the list ordinal -> row in ClickHouse; a rollback shares the list of the version it returns to.
  content_id uuid NOT NULL,
  name text,
  num_rows integer NOT NULL,
  -- [{"key": 0, "name": "input"}, …] in column order; cells are stored by key, so renaming a column touches no row.
  columns jsonb NOT NULL,
  rows_added integer NOT NULL,
  rows_removed integer NOT NULL,
  rows_edited integer NOT NULL,
  columns_added integer NOT NULL,
  columns_removed integer NOT NULL,
  columns_renamed integer NOT NULL,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (dataset_id, version_index)
);
CREATE INDEX dataset_versions_by_editor ON dataset_versions (created_by, dataset_id, created_at);

CREATE TABLE dataset_projects (
  dataset_id uuid NOT NULL REFERENCES datasets ON DELETE CASCADE,
  project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
  last_used_at timestamptz(3) NOT NULL,
  PRIMARY KEY (dataset_id, project_id)
);
CREATE INDEX dataset_projects_by_project ON dataset_projects (project_id, last_used_at);

-- Records given to an experiment instead of a dataset: rows of that run only. No foreign key: when the run is deleted this row still says which
-- rows of the other store are to go.
CREATE TABLE run_rows (
  run_id uuid PRIMARY KEY,
  -- The run's rows in ClickHouse stand under this id, one per attempt to store them; the attempt named here won.
  storage_id uuid NOT NULL,
  num_rows integer NOT NULL,
  columns jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
