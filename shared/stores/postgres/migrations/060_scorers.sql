-- Scorers that users defined. The built-in ones are code and have no row. A deleted scorer keeps its row: runs that used it still show its
-- name beside their values, and can be scored again.
CREATE TABLE scorers (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  scorer_type text NOT NULL CHECK (scorer_type IN ('llm', 'code', 'luna', 'preset')),
  definition jsonb NOT NULL,
  project_ids uuid[] NOT NULL DEFAULT '{}',
  default_version_id uuid,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  deleted_at timestamptz(3)
);
CREATE UNIQUE INDEX scorers_name ON scorers (lower(name)) WHERE deleted_at IS NULL;

CREATE TABLE scorer_versions (
  id uuid PRIMARY KEY,
  scorer_id uuid NOT NULL REFERENCES scorers (id) ON DELETE CASCADE,
  version integer NOT NULL,
  definition jsonb NOT NULL,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT scorer_versions_number UNIQUE (scorer_id, version)
);

-- The metrics switched on for a log stream or an experiment.
CREATE TABLE run_scorer_settings (
  run_id uuid PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  scorers jsonb NOT NULL DEFAULT '[]',
  segment_filters jsonb,
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX run_scorer_settings_project ON run_scorer_settings (project_id);
