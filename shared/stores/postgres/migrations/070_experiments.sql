CREATE TABLE experiment_groups (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name text NOT NULL,
  description text,
  is_system boolean NOT NULL DEFAULT false,
  created_by uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT experiment_groups_name UNIQUE (project_id, name)
);

-- What an experiment adds to its run. The definition (runner, dataset, settings) is set before a run starts and frozen while it goes on.
CREATE TABLE experiments (
  run_id uuid PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  group_id uuid NOT NULL REFERENCES experiment_groups (id),
  task_type integer NOT NULL DEFAULT 16,
  dataset_id uuid,
  dataset_version_index integer,
  dataset_name text,
  prompt_template_version_id uuid,
  prompt_settings jsonb,
  playground_id uuid,
  playground_prompt_id uuid,
  runner jsonb,
  settings jsonb NOT NULL DEFAULT '{}',
  -- idle: never started; requested: to be started; running, paused; completed, failed, cancelled: ended.
  state text NOT NULL DEFAULT 'idle' CHECK (state IN ('idle', 'requested', 'running', 'paused', 'completed', 'failed', 'cancelled')),
  -- Number of the newest workflow of this experiment: retries and re-scoring count up.
  workflow_number integer NOT NULL DEFAULT 0,
  -- Which rows the newest workflow runs: those not recorded, those recorded as failed, or none (scores only).
  rows_to_run text NOT NULL DEFAULT 'missing' CHECK (rows_to_run IN ('missing', 'failed', 'none')),
  row_count integer,
  error text,
  aggregates jsonb,
  -- The process that hosts the runner function, and when it was last heard.
  caller_process text,
  caller_seen_at timestamptz,
  started_at timestamptz,
  ended_at timestamptz
);
CREATE INDEX experiments_by_project ON experiments (project_id);
CREATE INDEX experiments_by_group ON experiments (group_id);
CREATE INDEX experiments_unended ON experiments (state) WHERE state IN ('requested', 'running', 'paused');

CREATE TABLE run_tags (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  key text NOT NULL,
  value text NOT NULL,
  tag_type text NOT NULL,
  created_by uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT run_tags_key UNIQUE (run_id, key)
);

CREATE TABLE jobs (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  job_name text NOT NULL,
  request jsonb NOT NULL,
  -- Workflow of the run that this job follows.
  workflow_number integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX jobs_by_run ON jobs (run_id);

-- Rows offered to a runner function in its caller's process. A row leaves the table when its chunk has seen it done.
CREATE TABLE offered_rows (
  run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  ordinal integer NOT NULL,
  attempt integer NOT NULL,
  process text,
  leased_until timestamptz,
  done boolean NOT NULL DEFAULT false,
  PRIMARY KEY (run_id, ordinal)
);
