CREATE TABLE projects (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  type text NOT NULL CHECK (type IN ('prompt_evaluation', 'llm_monitor', 'protect', 'gen_ai')),
  description text,
  labels text[] NOT NULL DEFAULT '{}',
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX projects_name ON projects (name);
CREATE INDEX projects_created_at ON projects (created_at, id);

ALTER TABLE api_keys ADD CONSTRAINT api_keys_project FOREIGN KEY (project_id) REFERENCES projects ON DELETE CASCADE;
CREATE INDEX api_keys_project ON api_keys (project_id);

-- Who may do what in a project. The creator is here as owner.
CREATE TABLE project_users (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'editor', 'annotator', 'viewer')),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (project_id, user_id)
);
CREATE INDEX project_users_user ON project_users (user_id);

CREATE TABLE project_groups (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
  group_id uuid NOT NULL REFERENCES user_groups ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'editor', 'annotator', 'viewer')),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (project_id, group_id)
);
CREATE INDEX project_groups_group ON project_groups (group_id);

-- Everything that holds records. What an experiment is beyond that stands in a table of its own, keyed by the run's id.
CREATE TABLE runs (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('log_stream', 'experiment', 'metrics_testing')),
  name text NOT NULL,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX runs_log_stream_name ON runs (project_id, name) WHERE kind = 'log_stream';
CREATE INDEX runs_project ON runs (project_id, created_at, id);

-- A deleted project or run leaves its row here until its records are deleted too: they live in another store, and a crash may come between.
CREATE TABLE pending_deletions (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  run_id uuid,
  requested_at timestamptz(3) NOT NULL DEFAULT now()
);
