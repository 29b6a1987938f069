-- The tables as the release of 27 November 2026 had them, which made them by many files (migrate.ts names them). The files after this one have what came later.

-- Accounts. Times are kept in milliseconds, as replies show them: a caller's filter on a time it was given finds the row.

-- One service serves one organization; its row is made here so that every user can refer to it.
CREATE TABLE organization (
  id uuid PRIMARY KEY,
  name text NOT NULL
);
INSERT INTO organization (id, name) VALUES (gen_random_uuid(), 'Assay');

CREATE TABLE users (
  id uuid PRIMARY KEY,
  email text NOT NULL,
  first_name text,
  last_name text,
  role text NOT NULL CHECK (role IN ('admin', 'manager', 'user', 'read_only')),
  -- PHC string of Argon2id; null where the user cannot log in by password.
  password_hash text,
  -- Raised to end every access token of the user.
  token_version integer NOT NULL DEFAULT 0,
  -- Set for a removed user: what they made still names them.
  removed_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE removed_at IS NULL;

CREATE TABLE user_groups (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  description text,
  visibility text NOT NULL CHECK (visibility IN ('public', 'private', 'hidden', 'protected')),
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX user_groups_name ON user_groups (name);

CREATE TABLE user_group_members (
  group_id uuid NOT NULL REFERENCES user_groups ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('member', 'maintainer', 'pending')),
  PRIMARY KEY (group_id, user_id)
);
CREATE INDEX user_group_members_user ON user_group_members (user_id);

-- Logins by password, so that their user sees and ends them. A token is valid without its row here: a session that has ended is noted in
-- spent_refresh_tokens by its id, and users.token_version is raised to end all. Only the newest sessions of a user are kept.
CREATE TABLE login_sessions (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- Set for the session that stays when all others end: its tokens, signed before, are good for this version of the user's.
  token_version integer,
  address text,
  user_agent text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  last_used timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX login_sessions_user ON login_sessions (user_id, last_used);

-- A refresh token is used once. Its id stands here from then until it would have ended anyway; the id of its family stands here when one of
-- the family was used twice, which ends them all. Tokens not used yet are signed and stored nowhere, so that a login writes nothing.
CREATE TABLE spent_refresh_tokens (
  id uuid PRIMARY KEY,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX spent_refresh_tokens_expiry ON spent_refresh_tokens (expires_at);

-- One-time tokens with which a user sets a new password, as SHA-256 in hex; at most one for a user.
CREATE TABLE password_resets (
  user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  token_hash text NOT NULL,
  created_by uuid NOT NULL REFERENCES users,
  expires_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX password_resets_token ON password_resets (token_hash);

-- Projects, and who may do what in them.

CREATE TABLE projects (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  type text NOT NULL CHECK (type IN ('prompt_evaluation', 'llm_monitor', 'protect', 'gen_ai')),
  description text,
  labels text[] NOT NULL DEFAULT '{}',
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Days for which the project keeps its records; null: for ever.
  retention_days integer CHECK (retention_days BETWEEN 1 AND 36500),
  -- The model that judges what the project's scorers name no model for, as `integration/model`.
  default_judge text
);
-- Names are unique among what their user sees: a name that is taken by something they may not see must not say so.
CREATE INDEX projects_name ON projects (name);
CREATE INDEX projects_created_at ON projects (created_at, id);
CREATE INDEX projects_retention ON projects (id) WHERE retention_days IS NOT NULL;

-- The creator is here as owner.
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

CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- SHA-256 of the key in hex. The key itself has 256 random bits, so a slow hash would add nothing.
  key_hash text NOT NULL,
  truncated text NOT NULL,
  description text NOT NULL,
  project_id uuid CONSTRAINT api_keys_project REFERENCES projects ON DELETE CASCADE,
  project_role text CHECK (project_role IN ('owner', 'editor', 'annotator', 'viewer')),
  expires_at timestamptz(3),
  last_used timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  CHECK ((project_id IS NULL) = (project_role IS NULL))
);
CREATE UNIQUE INDEX api_keys_hash ON api_keys (key_hash);
CREATE INDEX api_keys_user ON api_keys (user_id, created_at);
CREATE INDEX api_keys_project ON api_keys (project_id);

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

-- Datasets, prompts, scorers and integrations. `organization`: whether one is the organization's; otherwise it is its owner's, or the project's that is
-- named. project_id has no foreign key: a dataset of a project that was deleted keeps it, and so belongs to its owner alone. A name is taken where its
-- thing belongs: by the organization, a project, or the projects of a scorer. What others keep to themselves takes no name from anyone. Beside this, a new
-- name must differ from all that its author sees.

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
  deleted_at timestamptz(3),
  organization boolean NOT NULL DEFAULT true,
  project_id uuid
);
CREATE UNIQUE INDEX datasets_name ON datasets
  (name, (CASE WHEN organization THEN '00000000-0000-0000-0000-000000000000'::uuid ELSE coalesce(project_id, created_by) END)) WHERE deleted_at IS NULL;

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

-- Datasets whose rows a model makes: what was asked for, and the rows that have come.
CREATE TABLE dataset_extensions (
  dataset_id uuid PRIMARY KEY REFERENCES datasets ON DELETE CASCADE,
  request jsonb NOT NULL,
  rows jsonb NOT NULL DEFAULT '[]',
  -- Answers of the model that were taken in, so that one is taken in once.
  batches integer NOT NULL DEFAULT 0,
  -- Answers in a row that brought nothing new.
  fruitless integer NOT NULL DEFAULT 0,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'completed', 'failed')),
  message text,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dataset_extensions_running ON dataset_extensions (created_at) WHERE state = 'running';

CREATE TABLE prompt_templates (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  hidden boolean NOT NULL DEFAULT false,
  selected_version integer NOT NULL,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- Set on deletion: the name is free and the routes answer 404, while runs that use a version still read it.
  deleted_at timestamptz(3),
  organization boolean NOT NULL DEFAULT true,
  project_id uuid
);
CREATE UNIQUE INDEX prompt_templates_name ON prompt_templates
  (name, (CASE WHEN organization THEN '00000000-0000-0000-0000-000000000000'::uuid ELSE coalesce(project_id, created_by) END)) WHERE deleted_at IS NULL;

CREATE TABLE prompt_template_versions (
  id uuid PRIMARY KEY,
  template_id uuid NOT NULL REFERENCES prompt_templates ON DELETE CASCADE,
  version integer NOT NULL,
  -- A string, or an array of messages. json, not jsonb: the order of keys in a tool's schema matters to models.
  template json NOT NULL,
  raw boolean NOT NULL,
  settings json NOT NULL,
  output_type text,
  model_changed boolean NOT NULL,
  settings_changed boolean NOT NULL,
  content_changed boolean NOT NULL,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  UNIQUE (template_id, version)
);

CREATE TABLE prompt_template_projects (
  template_id uuid NOT NULL REFERENCES prompt_templates ON DELETE CASCADE,
  project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
  linked_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (template_id, project_id)
);
CREATE INDEX prompt_template_projects_by_project ON prompt_template_projects (project_id);

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
  deleted_at timestamptz(3),
  organization boolean NOT NULL DEFAULT true
);
CREATE UNIQUE INDEX scorers_name ON scorers (lower(name), (CASE WHEN organization THEN '{}'::uuid[] ELSE project_ids END)) WHERE deleted_at IS NULL;

CREATE TABLE scorer_versions (
  id uuid PRIMARY KEY,
  scorer_id uuid NOT NULL REFERENCES scorers (id) ON DELETE CASCADE,
  version integer NOT NULL,
  definition jsonb NOT NULL,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT scorer_versions_number UNIQUE (scorer_id, version)
);

CREATE TABLE integrations (
  id uuid PRIMARY KEY,
  provider text NOT NULL,
  -- The slug of a custom integration, the provider's name otherwise.
  name text NOT NULL,
  config jsonb NOT NULL,
  -- Sealed texts by field (v1:keyid:iv:ciphertext:tag); never plain ones.
  secrets jsonb NOT NULL,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  -- What its calls may use, over all workers: concurrency, requestsPerMinute, tokensPerMinute; null where nothing is set.
  limits jsonb,
  -- What its models cost: a list of {model, validFrom, rates}, as `OwnPrice` of shared/integrations has them.
  prices jsonb NOT NULL DEFAULT '[]',
  UNIQUE (provider, name)
);

-- Who may do what with one thing of these kinds, in the form of project_users and project_groups: dataset_users, dataset_groups, prompt_users and so on.
-- Its creator is here as owner.
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
       CREATE INDEX ON %1$I (user_id)',
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

-- Experiments.

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
  -- Which rows the newest workflow runs: those not recorded, those recorded as failed, or none (scores only). `chosen`: the executions of `rerun_rows`.
  -- `scores`: no row, and the values of one metric alone.
  rows_to_run text NOT NULL DEFAULT 'missing' CHECK (rows_to_run IN ('missing', 'failed', 'none', 'chosen', 'scores')),
  -- Executions: a row counts once for each trial.
  row_count integer,
  error text,
  aggregates jsonb,
  -- The process that hosts the runner function, and when it was last heard.
  caller_process text,
  caller_seen_at timestamptz,
  started_at timestamptz,
  ended_at timestamptz,
  -- The id of the newest workflow, made once from names that may change later; what Temporal's own pages list a run by.
  workflow_id text,
  -- Why a run pauses, where it does so by itself.
  pause_reason text,
  -- Why the workflow of a run does not get on, for as long as it does not.
  workflow_problem text,
  -- Of metrics whose values clients log: which numbers are better, and between which they lie, by the name of the metric.
  logged_metrics jsonb NOT NULL DEFAULT '{}',
  -- Times that each row is run.
  trials integer NOT NULL DEFAULT 1,
  -- What a row that failed counts as in the figures of a metric that has no value of it: not at all, or as the worst value there is.
  failed_rows text NOT NULL DEFAULT 'omit' CHECK (failed_rows IN ('omit', 'worst')),
  -- Which rows it is over: as its creation asks for it, and as its first start froze it (null: all of them).
  wanted_rows jsonb,
  selected_rows jsonb,
  -- By which experiments are ranked in their group.
  ranking_score double precision GENERATED ALWAYS AS ((aggregates ->> 'rankingScore')::double precision) STORED,
  -- What the newest workflow runs again where `rows_to_run` does not say it all; `executions` is there once the rows are frozen.
  rerun jsonb,
  -- The first workflow whose rows may have scores of former outputs: none has ended since that computes them. Of older runs it is not known.
  scores_left_from integer NOT NULL DEFAULT 1
);
CREATE INDEX experiments_by_project ON experiments (project_id);
CREATE INDEX experiments_by_group ON experiments (group_id);
CREATE INDEX experiments_by_ranking ON experiments (group_id, ranking_score);
CREATE INDEX experiments_unended ON experiments (state) WHERE state IN ('requested', 'running', 'paused');
-- Which prompts the experiments of a project use.
CREATE INDEX experiments_by_prompt ON experiments (prompt_template_version_id) WHERE prompt_template_version_id IS NOT NULL;

-- A creation that is repeated with the same Idempotency-Key by the same caller gets the experiment that the first one made.
CREATE TABLE experiment_creations (
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  created_by uuid NOT NULL,
  key text NOT NULL,
  -- SHA-256 of the request in hex: a key with another request is a mistake of the client.
  request_hash text NOT NULL,
  run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  CONSTRAINT experiment_creations_key PRIMARY KEY (project_id, created_by, key)
);
CREATE INDEX experiment_creations_run ON experiment_creations (run_id);

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

-- Lists of chosen rows in the row store. One that no experiment names is removed after a day: its start was refused, or its experiment is gone.
CREATE TABLE row_selections (
  storage_id uuid PRIMARY KEY,
  run_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- The executions that the newest workflow was asked to run, as ranges of ordinals, the end excluded.
CREATE TABLE rerun_rows (
  run_id uuid NOT NULL REFERENCES experiments (run_id) ON DELETE CASCADE,
  first integer NOT NULL,
  past integer NOT NULL,
  PRIMARY KEY (run_id, first)
);

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

-- Records of an experiment that were deleted while its workflow of this number ran: a retry of that workflow does not record them again.
CREATE TABLE deleted_rows (
  run_id uuid NOT NULL REFERENCES experiments (run_id) ON DELETE CASCADE,
  record_id uuid NOT NULL,
  workflow_number integer NOT NULL,
  PRIMARY KEY (run_id, record_id, workflow_number)
);

-- Experiments of which clients have logged, changed or deleted records that the stored aggregates may lack. Noted before records are written; removed
-- when the aggregates were computed so long afterwards that no write can be under way.
CREATE TABLE outdated_aggregates (
  -- No reference: a write that begins while its experiment is deleted must not fail here.
  run_id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Who computes them, and since when.
  claim uuid,
  claimed_at timestamptz,
  -- Until then they are somebody's, or rest so that a stream of records does not have them computed all the time.
  free_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Scores.

-- The metrics switched on for a log stream or an experiment.
CREATE TABLE run_scorer_settings (
  run_id uuid PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  scorers jsonb NOT NULL DEFAULT '[]',
  segment_filters jsonb,
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  -- How far a log stream's new records are scored. Records from before this are scored only when somebody asks for it.
  scored_from timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When the last look for new records began, and when records were last seen to be written.
  looked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  written_at timestamptz
);
CREATE INDEX run_scorer_settings_project ON run_scorer_settings (project_id);

-- What the values and marks of a run were, or are to be, made by: each definition once, under the id of what it computes.
CREATE TABLE frozen_metrics (
  run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  version uuid NOT NULL,
  scorer_id uuid NOT NULL,
  -- JSON text: prompts may hold what jsonb refuses.
  definition text NOT NULL,
  frozen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, version)
);

-- The metrics of an experiment's newest workflow, frozen at its start.
CREATE TABLE run_metrics (
  run_id uuid PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  workflow_number integer NOT NULL,
  -- In the order of the settings.
  versions uuid[] NOT NULL,
  -- Both in microseconds, as the versions of records and values are: values that failed before the first are computed again, and rows recorded
  -- before the second were looked at.
  frozen_at bigint NOT NULL,
  looked_to bigint NOT NULL DEFAULT 0
);

-- Requests to score records of a run. The records are marked in the record store first; what is marked there is what is still to be scored.
CREATE TABLE scorings (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  scorer_ids uuid[] NOT NULL,
  -- Filter, order and page as JSON text: the filter's texts may hold what jsonb refuses.
  selection text NOT NULL,
  -- requested: not marked yet; running: marked; completed, failed: ended.
  state text NOT NULL DEFAULT 'requested' CHECK (state IN ('requested', 'running', 'completed', 'failed')),
  values_total bigint NOT NULL DEFAULT 0,
  values_done bigint NOT NULL DEFAULT 0,
  -- Marks up to this version are this request's.
  marked_to bigint,
  error text,
  created_by uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  ended_at timestamptz
);
CREATE INDEX scorings_by_run ON scorings (run_id);
CREATE INDEX scorings_by_project ON scorings (project_id);
CREATE INDEX scorings_unended ON scorings (run_id, created_at) WHERE state IN ('requested', 'running');

CREATE TABLE jobs (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  job_name text NOT NULL,
  request jsonb NOT NULL,
  -- Workflow of the run that this job follows.
  workflow_number integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Set for a job that follows a scoring instead.
  scoring_id uuid REFERENCES scorings (id) ON DELETE CASCADE
);
CREATE INDEX jobs_by_run ON jobs (run_id);
CREATE INDEX jobs_by_scoring ON jobs (scoring_id);

-- Annotations.

-- Queues of records that people rate. A queue belongs to no project: it holds records of any.
CREATE TABLE annotation_queues (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  description text,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
-- Names are unique among what their user sees, as those of projects.
CREATE INDEX annotation_queues_name ON annotation_queues (name);

CREATE TABLE annotation_queue_users (
  id uuid PRIMARY KEY,
  queue_id uuid NOT NULL REFERENCES annotation_queues ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'editor', 'annotator', 'viewer')),
  track_progress boolean NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (queue_id, user_id)
);
CREATE INDEX annotation_queue_users_user ON annotation_queue_users (user_id);

-- Positions of a queue's templates run from 0 without gaps; whoever changes them holds the queue's row.
CREATE TABLE annotation_templates (
  id uuid PRIMARY KEY,
  queue_id uuid NOT NULL REFERENCES annotation_queues ON DELETE CASCADE,
  name text NOT NULL,
  include_explanation boolean NOT NULL,
  criteria text,
  constraints jsonb NOT NULL,
  position integer NOT NULL,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX annotation_templates_queue ON annotation_templates (queue_id, position);

-- A record is in a queue once, whatever run holds it. With its run or project it leaves the queue.
CREATE TABLE annotation_queue_records (
  queue_id uuid NOT NULL REFERENCES annotation_queues ON DELETE CASCADE,
  record_id uuid NOT NULL,
  project_id uuid NOT NULL,
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  added_by uuid NOT NULL REFERENCES users,
  added_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (queue_id, record_id)
);
CREATE INDEX annotation_queue_records_run ON annotation_queue_records (run_id, record_id);
CREATE INDEX annotation_queue_records_project ON annotation_queue_records (project_id);

-- One rating a record, template and annotator. `value` has the type that the template's constraints name.
CREATE TABLE annotation_ratings (
  template_id uuid NOT NULL REFERENCES annotation_templates ON DELETE CASCADE,
  record_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES users,
  queue_id uuid NOT NULL,
  value jsonb NOT NULL,
  explanation text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (template_id, record_id, user_id),
  FOREIGN KEY (queue_id, record_id) REFERENCES annotation_queue_records ON DELETE CASCADE
);
CREATE INDEX annotation_ratings_record ON annotation_ratings (queue_id, record_id);

-- Exports that a link was given out for; the id is the secret in it.
CREATE TABLE annotation_exports (
  id uuid PRIMARY KEY,
  queue_id uuid NOT NULL REFERENCES annotation_queues ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users,
  request jsonb NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX annotation_exports_expiry ON annotation_exports (expires_at);

-- Changes and deletions of records, which live in another store.

-- Updates of records that have not come yet, in order of arrival. They are applied when the record is stored and count for nothing from then on.
CREATE TABLE held_updates (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id uuid NOT NULL,
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  record_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('trace', 'span')),
  -- JSON text: inputs and outputs may hold what jsonb refuses.
  change text NOT NULL,
  bytes integer NOT NULL,
  held_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX held_updates_record ON held_updates (run_id, record_id);
CREATE INDEX held_updates_project ON held_updates (project_id, held_at) INCLUDE (bytes);

-- A deleted project or run leaves its row here until its records are deleted too: a crash may come between.
CREATE TABLE pending_deletions (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  run_id uuid,
  requested_at timestamptz(3) NOT NULL DEFAULT now()
);

-- Every run and project (run_id null) that was deleted: whoever still writes to it, or opens a run under its id, is refused. Kept for ever.
CREATE TABLE deletion_markers (
  project_id uuid NOT NULL,
  run_id uuid,
  deleted_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX deletion_markers_project ON deletion_markers (project_id, run_id);
CREATE INDEX deletion_markers_run ON deletion_markers (run_id);

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

-- The records that are being taken from the other stores at this moment. No search finds them before the next write to their run.
CREATE TABLE record_erasures (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  run_id uuid NOT NULL,
  keys jsonb NOT NULL,
  noted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX record_erasures_run ON record_erasures (project_id, run_id);
